"""Closing: who may, what a closed room still answers, and that its path is free again."""

from __future__ import annotations

import pytest

from tallystick.hub import registry
from tallystick.kernel.operation import AnyOperation
from tests.scene import HANDOFF, Scene, Turn, refused


def test_the_holder_closes_with_its_lease(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    closed = ada.owner("rooms.close", turn, reason="shipped")
    assert closed == {"status": "closed", "room_id": ada.room_id, "event_seq": 6}
    state = bob.state()
    assert (state["state"], state["owner"], state["turn_id"]) == ("closed", None, 1)
    assert (state["lease_id"], state["lease_expires_at"], state["claim_expires_at"]) == (None, None, None)


def test_any_member_closes_a_room_that_nobody_holds(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    bob.here("rooms.close", reason="all done")
    last = bob.history()[-1]
    assert (last["event_type"], last["turn_id"], last["from_agent_id"], last["to_agent_id"], last["reason"]) == (
        "close",
        1,
        "bob",
        None,
        "all done",
    )


def test_nobody_else_closes_a_room_whose_stick_is_held(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    with refused("not_holder") as caught:
        bob.owner("rooms.close", turn)
    assert caught.value.details == {"current_owner": "ada", "current_turn_id": 1, "room_state": "owned"}


def test_a_holder_without_its_lease_cannot_close(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.claim()
    with scene.refused("stale_lease"):
        ada.here("rooms.close")
    with scene.refused("stale_lease"):
        ada.owner("rooms.close", Turn(ada.room_id, 1, "nonsense"))


def test_a_close_that_expects_another_turn_is_refused(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    with scene.refused("turn_mismatch"):
        ada.here("rooms.close", expected_turn_id=1)
    turn = ada.claim()
    with scene.refused("turn_mismatch"):
        bob.here("rooms.close", expected_turn_id=0, lease_id=turn.lease_id)


def test_a_stranger_cannot_close(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("unknown_member"):
        scene.stranger(ada.room_id).here("rooms.close")


def test_an_expired_holder_may_still_close_and_nobody_else(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=46)
    with refused("not_holder"):
        bob.here("rooms.close")
    assert ada.owner("rooms.close", turn)["status"] == "closed"


def test_a_dead_holder_cannot_close(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    scene.kill(ada)
    with scene.refused("stale_lease"):
        ada.owner("rooms.close", turn)


CHANGES = [
    each
    for each in registry.OPERATIONS.values()
    if each.writes and each.noun in {"rooms", "turns", "notes", "events"}
    if each.name not in {"rooms.create", "rooms.attach_scope"}
]
"""Everything that changes a room, called as its own example says."""


@pytest.mark.parametrize("operation", CHANGES, ids=lambda operation: operation.name)
def test_a_closed_room_refuses_every_change(scene: Scene, operation: AnyOperation) -> None:
    given = {name: value for name, value in operation.examples[0].items() if name not in {"room_id", "context_path"}}
    ada, _bob = scene.joined("ada", "bob")
    ada.here("rooms.close")
    before = scene.dump()
    with refused("room_closed") as caught:
        ada.here(operation.name, **given)
    assert caught.value.details == {"room_id": ada.room_id}
    assert scene.dump() == before


def test_a_closed_room_takes_no_further_path(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("rooms.close")
    with scene.refused("room_closed"):
        ada.here("rooms.attach_scope", context_path=str(scene.folder("other")))


def test_a_wait_in_a_closed_room_says_closed(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("rooms.close")
    assert ada.look() == {"status": "closed", "room_id": ada.room_id}
    assert scene.stranger(ada.room_id).look() == {"status": "closed", "room_id": ada.room_id}


def test_a_closed_rooms_history_stays_readable(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    bob.owner("rooms.close", bob.claim())
    assert [row["event_type"] for row in ada.history()] == ["claim", "release", "claim", "close"]
    assert ada.history()[1]["handoff"] == HANDOFF
    assert len(ada.events()) == 8
    assert ada.call("events.verify", room_id=ada.room_id)["ok"] is True


def test_a_closed_rooms_path_is_free_for_a_new_room(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    old = ada.room_id
    ada.here("rooms.close")
    joined = ada.join()
    assert (joined["joined_existing_room"], joined["canonical_path"]) == (False, str(scene.workspace))
    assert joined["room_id"] != old
    assert ada.look()["turn_id"] == 1
