"""Processes that stand still longer than their lease and then go on as if nothing had happened."""

from __future__ import annotations

import signal
from typing import cast

from tallystick.kernel.caller import Caller, SessionKind
from tests.chaos import checker
from tests.chaos.behaviours import hold_on
from tests.chaos.fleet import CONTEXT, Fleet, outcomes

BOB = Caller(agent_id="bob", session=SessionKind.NAMED)


def test_a_holder_that_was_paused_past_its_lease_is_refused_whatever_it_writes(fleet: Fleet) -> None:
    room_id = fleet.room()
    ours, theirs = CONTEXT.Pipe()
    holder = fleet.start(hold_on, "ada", room_id, orders=theirs)
    turn = ours.recv()
    holder.signal(signal.SIGSTOP)
    fleet.hub.call("rooms.join", {"room_id": room_id}, BOB)

    offer = fleet.hub.call("turns.wait", {"room_id": room_id, "max_wait_ms": 10_000}, BOB).to_data()
    taken = fleet.hub.call(
        "turns.takeover", {"room_id": room_id, "expected_turn_id": offer["turn_id"], "reason": "silence"}, BOB
    ).to_data()
    ours.send("go on")
    holder.signal(signal.SIGCONT)
    attempts = fleet.finish()

    assert (offer["status"], offer["reason"], offer["current_owner"]) == ("takeover_available", "owner_timeout", "ada")
    assert (taken["turn_id"], taken["revoked_agent_id"]) == (cast("int", turn["turn_id"]) + 1, "ada")
    owner_calls = {"turns.heartbeat", "turns.release", "turns.pass"}
    assert outcomes(attempts, owner_calls) == {"turn_mismatch": 3}
    assert fleet.owner(room_id) == "bob"
    assert checker.problems(fleet.hub, attempts) == []


def test_a_holder_that_was_paused_past_its_lease_may_go_on_when_nobody_took_over(fleet: Fleet) -> None:
    room_id = fleet.room()
    ours, theirs = CONTEXT.Pipe()
    holder = fleet.start(hold_on, "ada", room_id, orders=theirs)
    ours.recv()
    holder.signal(signal.SIGSTOP)
    fleet.hub.call("rooms.join", {"room_id": room_id}, BOB)
    fleet.hub.call("turns.wait", {"room_id": room_id, "max_wait_ms": 10_000}, BOB)

    ours.send("go on")
    holder.signal(signal.SIGCONT)
    attempts = fleet.finish()

    owner_calls = {"turns.heartbeat", "turns.release", "turns.pass"}
    assert outcomes(attempts, owner_calls) == {"ok": 1, "released": 1, "stale_lease": 1}
    assert checker.problems(fleet.hub, attempts) == []
