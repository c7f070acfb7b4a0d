"""What a person may end: a living holder's turn, and a membership; both with a reason that stays."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.hub import maintenance
from tallystick.kernel.caller import Caller, SessionKind
from tests.scene import Actor, Row, Scene, refused


def person(scene: Scene, like: Actor, who: str = "human:wren:pts1", *, by_token: bool = False) -> Actor:
    session = SessionKind.NAMED if who == "boss" else SessionKind.HUMAN_CLI
    return Actor(scene, Caller(agent_id=who, session=session, by_token=by_token), like.room_id)


@pytest.mark.parametrize(("who", "by_token"), [("human:wren:pts1", False), ("user", True), ("boss", True)])
def test_a_person_ends_a_living_holders_turn_and_the_holder_is_told(scene: Scene, who: str, by_token: bool) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    ended = person(scene, ada, who, by_token=by_token).here("turns.revoke", expected_turn_id=1, reason="it hangs")
    (event,) = bob.events(kinds=["x.tally.stick.revoke"])
    by = "boss" if who == "boss" else "user"
    assert (event["by"], event["data"]) == (
        by,
        {"turn_id": 1, "from_agent_id": "ada", "reserved_for": "bob", "reason": "it hangs"},
    )
    assert ended == {
        "status": "revoked",
        "room_id": ada.room_id,
        "turn_id": 1,
        "revoked_agent_id": "ada",
        "reserved_for": "bob",
        "event_seq": event["seq"],
    }
    with scene.refused("stale_lease"):
        ada.owner("turns.heartbeat", turn)
    (told,) = cast("list[Row]", ada.here("messages.inbox")["messages"])
    assert told["event"]["data"]["message"] == f"{by} ended turn 1: it hangs"
    assert (bob.look()["status"], bob.look()["turn_id"]) == ("your_turn", 2)
    assert [row["event_type"] for row in ada.history()] == ["claim", "revoke", "claim"]
    assert maintenance.check(scene.hub) == []


def test_no_agent_ends_anothers_turn_and_no_turn_that_is_not_the_present_one(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    with scene.refused("nobody_holds"):
        person(scene, ada).here("turns.revoke", expected_turn_id=0, reason="it hangs")
    ada.claim()
    with scene.refused("person_needed"):
        bob.here("turns.revoke", expected_turn_id=1, reason="mine")
    with scene.refused("turn_mismatch"):
        person(scene, ada).here("turns.revoke", expected_turn_id=7, reason="it hangs")


def test_a_person_removes_a_member_that_may_come_back(scene: Scene) -> None:
    ada, ghost = scene.joined("ada", "ghost")
    removed = person(scene, ada).here("rooms.remove", agent_id="ghost", reason="its script has ended")
    (event,) = ada.events(kinds=["actor.remove"])
    assert removed == {"room_id": ada.room_id, "agent_id": "ghost", "event_seq": event["seq"]}
    assert (event["by"], event["data"]) == ("user", {"actor_id": "ghost", "reason": "its script has ended"})
    with refused("unknown_member"):
        ghost.look()
    assert ada.release(ada.claim())["reserved_for"] is None
    ghost.join()
    assert [each["agent_id"] for each in ada.members()] == ["ada", "ghost"]
    assert maintenance.check(scene.hub) == []


def test_no_agent_removes_another_and_nobody_the_holder(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    with scene.refused("person_needed"):
        bob.here("rooms.remove", agent_id="ada", reason="in my way")
    ada.claim()
    with scene.refused("holds_stick"):
        person(scene, ada).here("rooms.remove", agent_id="ada", reason="in my way")
