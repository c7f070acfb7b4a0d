"""Many processes at once: on one idle room, on one ledger, on one new workspace, and in rooms of their own."""

from __future__ import annotations

import signal
from collections import Counter

from tests.chaos import checker
from tests.chaos.behaviours import append_events, claim_once, hold_on, join_workspace, wait_long
from tests.chaos.fleet import CONTEXT, Fleet, barrier, outcomes
from tests.chaos.worker import take_turns


def test_of_sixteen_processes_that_claim_an_idle_room_at_once_one_wins(fleet: Fleet) -> None:
    room_id, start = fleet.room(owner_lease_ttl_ms=60_000), barrier(16)
    for number in range(16):
        fleet.start(claim_once, f"agent-{number}", room_id, start=start)

    attempts = fleet.finish()

    assert outcomes(attempts, {"turns.wait"}) == {"your_turn": 1, "not_yet": 15}
    (winner,) = [each.by for each in attempts if each.answer.get("status") == "your_turn"]
    assert fleet.owner(room_id) == winner
    assert checker.problems(fleet.hub, attempts) == []


def test_a_process_that_waits_gets_the_turn_that_another_process_hands_over(fleet: Fleet) -> None:
    room_id = fleet.room(owner_lease_ttl_ms=60_000)
    fleet.hub.call("rooms.join", {"room_id": room_id}, checker.WITNESS)
    turn = fleet.hub.call("turns.wait", {"room_id": room_id, "max_wait_ms": 0}, checker.WITNESS).to_data()
    ours, theirs = CONTEXT.Pipe()
    fleet.start(wait_long, "ada", room_id, orders=theirs)
    ours.recv()

    lease = {"room_id": room_id, "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
    handoff = {"status": "half done", "next_action": "go on"}
    fleet.hub.call("turns.release", {**lease, "handoff": handoff}, checker.WITNESS)

    attempts = fleet.finish()
    got = attempts[-1].answer
    assert (got["status"], got["turn_id"], got["handoff"], got["reason"]) == ("your_turn", 2, handoff, "sequence")
    assert checker.problems(fleet.hub, attempts) == []


def test_sixteen_processes_that_join_a_new_workspace_at_once_meet_in_one_room(fleet: Fleet) -> None:
    start = barrier(16)
    for number in range(16):
        fleet.start(join_workspace, f"agent-{number}", start=start)

    attempts = fleet.finish()

    assert Counter(each.answer.get("joined_existing_room") for each in attempts) == {False: 1, True: 15}
    assert len({each.answer["room_id"] for each in attempts}) == 1
    assert checker.problems(fleet.hub, attempts) == []


def test_eight_processes_append_without_an_error_and_without_a_gap(fleet: Fleet) -> None:
    room_id, start = fleet.room(), barrier(8)
    before = fleet.head(room_id)
    for number in range(8):
        fleet.start(append_events, f"svc:writer-{number}", room_id, start=start, times=60)

    attempts = fleet.finish()

    assert outcomes(attempts) == {"ok": 480}
    assert fleet.head(room_id) == before + 480
    assert checker.problems(fleet.hub, attempts) == []


def test_a_holder_that_stands_still_in_one_room_does_not_stop_another_room(fleet: Fleet) -> None:
    quiet, busy = fleet.room("quiet", owner_lease_ttl_ms=60_000), fleet.room("busy")
    ours, theirs = CONTEXT.Pipe()
    holder = fleet.start(hold_on, "holder", quiet, orders=theirs)
    ours.recv()
    holder.signal(signal.SIGSTOP)
    for number in range(4):
        fleet.start(take_turns, f"agent-{number}", busy)
    still = fleet.head(quiet)

    fleet.reached(busy, 80)

    assert (fleet.head(quiet), fleet.owner(quiet)) == (still, "holder")
    holder.signal(signal.SIGCONT)
    ours.send("go on")
    attempts = fleet.finish()
    assert {each.by for each in attempts if each.given["room_id"] == quiet} == {"holder"}
    assert checker.problems(fleet.hub, attempts) == []
