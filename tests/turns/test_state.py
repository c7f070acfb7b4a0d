"""A room's state as everybody may see it: every field, in every situation."""

from __future__ import annotations

import pytest

from tallystick.capabilities.rooms.model import RoomState
from tests.scene import Row, Scene


def test_the_states_are_those_of_the_specification() -> None:
    assert [state.value for state in RoomState] == [
        "idle",
        "owned",
        "reserved",
        "stale_owner",
        "owner_gone",
        "recipient_gone",
        "dormant",
        "closed",
    ]


def fresh(scene: Scene, room_id: str) -> Row:
    """The state of a room that ada and bob have just joined."""
    seen: Row = scene.stranger(room_id).state()
    return {
        "room_id": room_id,
        "canonical_path": str(scene.workspace),
        "members": seen["members"],
        "sequence_index": 0,
        "owner": None,
        "reserved_for": None,
        "pending_handoff_event_seq": None,
        "turn_id": 0,
        "lease_id": None,
        "lease_expires_at": None,
        "claim_expires_at": None,
        "state": "idle",
        "updated_at": "2026-09-21T14:13:20.000Z",
        "takeover": None,
        "takeover_candidates": [],
        "next": None,
        "waiting": [],
        "policy": seen["policy"],
        "cursor": "4",
        "members_here": 2,
        "members_gone": 0,
    }


def test_an_idle_room_has_neither_owner_nor_recipient(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    assert bob.state() == fresh(scene, ada.room_id)


def test_an_owned_room_names_its_owner_and_the_end_of_its_lease(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    scene.clock.forward(minutes=1)
    ada.claim()
    assert scene.stranger(ada.room_id).state() == {
        **fresh(scene, ada.room_id),
        "owner": "ada",
        "next": "bob",
        "turn_id": 1,
        "lease_expires_at": "2026-09-21T14:59:20.000Z",
        "state": "owned",
        "updated_at": "2026-09-21T14:14:20.000Z",
        "cursor": "5",
    }


@pytest.mark.parametrize("how", ["release", "pass"])
def test_a_reserved_room_names_its_recipient_and_how_long_it_is_kept(scene: Scene, how: str) -> None:
    ada, _bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=1)
    if how == "release":
        ada.release(turn)
    else:
        ada.pass_to(turn, "bob")
    assert scene.stranger(ada.room_id).state() == {
        **fresh(scene, ada.room_id),
        "sequence_index": 1,
        "reserved_for": "bob",
        "next": "bob",
        "pending_handoff_event_seq": 6,
        "turn_id": 1,
        "claim_expires_at": "2026-09-21T14:34:20.000Z",
        "state": "reserved",
        "updated_at": "2026-09-21T14:14:20.000Z",
        "cursor": "6",
    }


def test_a_stale_owner_is_still_the_owner_and_others_may_take_over(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.claim()
    scene.clock.forward(minutes=45)
    assert scene.stranger(ada.room_id).state() == {
        **fresh(scene, ada.room_id),
        "owner": "ada",
        "next": "bob",
        "turn_id": 1,
        "lease_expires_at": "2026-09-21T14:58:20.000Z",
        "state": "stale_owner",
        "takeover": "owner_timeout",
        "takeover_candidates": ["bob"],
        "cursor": "5",
    }


def test_a_missed_claim_leaves_the_room_reserved_and_names_who_may_take_over(scene: Scene) -> None:
    ada, _bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    scene.clock.forward(minutes=20)
    state = cyd.state()
    assert (state["state"], state["reserved_for"], state["takeover"], state["takeover_candidates"]) == (
        "reserved",
        "bob",
        "claim_timeout",
        ["cyd"],
    )


@pytest.mark.parametrize("minutes", [20, 1_000_000])
def test_time_alone_changes_nothing_that_is_stored(scene: Scene, minutes: int) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    before = scene.dump()
    scene.clock.forward(minutes=minutes)
    stranger = scene.stranger(ada.room_id)
    stranger.state()
    stranger.call("rooms.list")
    assert scene.dump() == before
    assert bob.look()["status"] == "your_turn"


def test_a_sequence_that_points_at_somebody_who_left_starts_at_the_beginning(scene: Scene) -> None:
    ada, bob, _cyd = scene.joined("ada", "bob", "cyd")
    ada.pass_to(ada.claim(), "bob")
    bob.here("rooms.leave")
    assert ada.state()["sequence_index"] == 0


def test_a_solo_release_leaves_no_recipient_and_no_claim_time(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.release(ada.claim())
    state = ada.state()
    assert (state["state"], state["reserved_for"], state["claim_expires_at"]) == ("idle", None, None)


def test_a_claim_and_a_takeover_clear_reservation_and_pending_handoff(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    turn = bob.claim()
    claimed = cyd.state()
    assert (claimed["reserved_for"], claimed["pending_handoff_event_seq"]) == (None, None)
    bob.release(turn)
    scene.clock.forward(minutes=21)
    ada.take_over(2)
    taken = cyd.state()
    assert (taken["owner"], taken["reserved_for"], taken["pending_handoff_event_seq"], taken["claim_expires_at"]) == (
        "ada",
        None,
        None,
        None,
    )


def test_who_is_next_follows_the_holder_among_those_who_could_hold(scene: Scene) -> None:
    ada, bob, cleo = scene.joined("ada", "bob", "cleo")
    bob.claim()
    assert ada.state()["next"] == "cleo"
    scene.kill(cleo)
    assert ada.state()["next"] == "ada"
    scene.kill(ada)
    assert bob.state()["next"] is None
