"""A turn belongs to one live session: others under its name are told who holds it, and take over by the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tallystick.hub import maintenance
from tallystick.kernel.caller import Caller, SessionKind
from tests.scene import HANDOFF, Actor, Scene, refused

OWNER_CALLS: list[tuple[str, dict[str, object]]] = [
    ("turns.heartbeat", {}),
    ("turns.release", {"handoff": HANDOFF}),
    ("turns.pass", {"handoff": HANDOFF, "to_agent_id": "bob"}),
    ("rooms.close", {}),
]


def twins(scene: Scene) -> tuple[Actor, Actor]:
    """Two live sessions that are configured alike; the older joined first."""
    (older,) = scene.joined("worker")
    newer = scene.reborn("worker")
    newer.room_id = older.room_id
    return older, newer


def by_name(scene: Scene, like: Actor, **changes: object) -> Actor:
    """The same name in a command that has no process of its own."""
    named = Caller(agent_id=like.caller.agent_id, session=SessionKind.NAMED)
    return Actor(scene, replace(named, **changes), like.room_id)


def pid(actor: Actor) -> int:
    assert actor.caller.process
    return actor.caller.process.pid


def test_another_live_session_of_the_holders_name_is_told_who_holds_the_stick(scene: Scene) -> None:
    older, newer = twins(scene)
    turn = older.claim()
    assert newer.look() == {
        "status": "not_yet",
        "cursor": newer.state()["cursor"],
        "room_state": "owned",
        "current_owner": "worker",
        "other_session": {
            "agent_id": "worker",
            "session_id": "worker",
            "session_kind": "mcp_harness",
            "pid": pid(older),
            "lease_expires_at": newer.state()["lease_expires_at"],
        },
    }
    assert newer.state()["lease_id"] is None
    with scene.refused("session_superseded"):
        older.look()
    assert older.claim() == turn


@pytest.mark.parametrize(("operation", "given"), OWNER_CALLS)
def test_another_session_cannot_use_the_holders_lease(scene: Scene, operation: str, given: dict[str, object]) -> None:
    older, newer = twins(scene)
    scene.joined("bob")
    turn = older.claim()
    newer.state()
    with refused("stale_lease") as caught:
        newer.owner(operation, turn, **given)
    assert caught.value.message == f"worker holds the stick in another session: process {pid(older)}."
    with scene.refused("session_superseded"):
        older.owner("turns.heartbeat", turn)
    assert older.owner("turns.heartbeat", turn)["status"] == "ok"


def test_a_newer_session_supersedes_the_older_once_and_both_see_it(scene: Scene) -> None:
    older, newer = twins(scene)
    newer.here("agents.heartbeat")
    newer.here("agents.heartbeat")
    (event,) = newer.events(kinds=["x.tally.session.supersede"])
    assert (event["by"], event["data"]) == (
        "worker",
        {"agent_id": "worker", "pid": pid(newer), "older_pid": pid(older)},
    )
    with refused("session_superseded") as caught:
        older.here("notes.add", body="still here")
    assert caught.value.message == "A newer session works as worker in this room."
    assert older.here("notes.add", body="still here")["body"] == "still here"
    newer.here("agents.heartbeat")
    assert len(newer.events(kinds=["x.tally.session.supersede"])) == 1
    assert newer.here("agents.show")["pid"] == pid(newer)
    assert maintenance.check(scene.hub) == []


def test_reading_is_not_refused_and_does_not_count_as_being_told(scene: Scene) -> None:
    older, newer = twins(scene)
    newer.here("agents.heartbeat")
    older.state()
    with scene.refused("session_superseded"):
        older.here("notes.add", body="still here")


def test_an_older_session_comes_back_into_its_place_when_the_newer_has_ended(scene: Scene) -> None:
    older, newer = twins(scene)
    newer.here("agents.heartbeat")
    scene.kill(newer)
    older.here("notes.add", body="back")
    assert older.here("agents.show")["pid"] == pid(older)
    third = scene.reborn("worker")
    third.room_id = older.room_id
    third.here("agents.heartbeat")
    with scene.refused("session_superseded"):
        older.here("notes.add", body="and again")


@pytest.mark.parametrize("fate", ["its lease ran out", "its process ended"])
def test_a_newer_session_takes_its_own_names_turn_over_by_the_rules(scene: Scene, fate: str) -> None:
    older, newer = twins(scene)
    turn = older.claim()
    with refused("takeover_not_available"):
        newer.take_over(turn.turn_id)
    if fate == "its process ended":
        scene.kill(older)
    else:
        scene.clock.forward(minutes=46)
    found = newer.look()
    assert (found["status"], found["current_owner"]) == ("takeover_available", "worker")
    assert newer.state()["takeover_candidates"] == ["worker"]
    taken = newer.take_over(turn.turn_id, "the other window is gone")
    assert (taken["turn_id"], taken["revoked_agent_id"]) == (2, "worker")
    with refused("session_superseded"):
        older.owner("turns.heartbeat", turn)
    with scene.refused("turn_mismatch"):
        older.owner("turns.heartbeat", turn)
    assert newer.look()["reason"] == "already_owner"


def test_an_expired_lease_is_renewed_by_its_sessions_own_wait_which_says_so(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn, ended = ada.claim(), ada.state()["lease_expires_at"]
    scene.clock.forward(minutes=46)
    assert bob.look()["status"] == "takeover_available"
    again = ada.look()
    assert again == {
        "status": "your_turn",
        "room_id": ada.room_id,
        "turn_id": turn.turn_id,
        "lease_id": turn.lease_id,
        "handoff": None,
        "from_agent_id": None,
        "reason": "already_owner",
        "lease_expired_at": ended,
    }
    assert bob.look()["room_state"] == "owned"
    assert "lease_expired_at" not in ada.look()


def test_an_expired_lease_is_not_renewed_once_somebody_took_over(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=46)
    bob.take_over(turn.turn_id)
    assert (ada.look()["status"], ada.look()["current_owner"]) == ("not_yet", "bob")


def test_commands_without_a_process_share_the_turn_of_their_name(scene: Scene) -> None:
    (bob,) = scene.joined("bob")
    ada = Actor(scene, Caller(agent_id="ada", session=SessionKind.NAMED), bob.room_id)
    ada.join()
    turn = ada.claim()
    assert by_name(scene, ada).claim() == turn
    assert by_name(scene, ada).release(turn)["reserved_for"] == "bob"


def test_a_turn_claimed_by_a_command_becomes_that_of_the_first_process_that_keeps_it(scene: Scene) -> None:
    older, newer = twins(scene)
    command = by_name(scene, older)
    turn = command.claim()
    assert older.claim() == turn
    assert newer.look()["status"] == "not_yet"
    with scene.refused("stale_lease"):
        newer.owner("turns.heartbeat", turn)
    with refused("session_superseded"):
        older.owner("turns.heartbeat", turn)
    assert command.owner("turns.heartbeat", turn)["status"] == "ok"
    scene.kill(older)
    assert newer.look()["status"] == "takeover_available"
    with scene.refused("stale_lease"):
        command.owner("turns.heartbeat", turn)


def test_a_token_for_a_name_is_another_session_than_a_local_one(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    remote = by_name(scene, ada, by_token=True)
    found = remote.look()
    assert (found["status"], "other_session" in found) == ("not_yet", True)
    with scene.refused("stale_lease"):
        remote.owner("turns.heartbeat", turn)
