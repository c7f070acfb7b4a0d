"""Setting the turn order by hand."""

from __future__ import annotations

import pytest

from tests.scene import Actor, Scene, refused


def order(actor: Actor) -> list[tuple[str, int]]:
    return [(member["agent_id"], member["ordinal"]) for member in actor.members()]


def test_a_new_order_decides_who_comes_next(scene: Scene) -> None:
    ada, bob, _cyd = scene.joined("ada", "bob", "cyd")
    set_ = bob.here("rooms.reorder", sequence=["cyd", "ada", "bob"])
    assert set_ == {"room_id": ada.room_id, "changed": True, "sequence": ["cyd", "ada", "bob"]}
    assert order(bob) == [("cyd", 0), ("ada", 1), ("bob", 2)]
    assert bob.events()[-1]["data"] == {"sequence": ["cyd", "ada", "bob"]}
    assert bob.release(bob.claim())["reserved_for"] == "cyd"


def test_the_present_order_appends_nothing(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    before = scene.dump()
    assert ada.here("rooms.reorder", sequence=["ada", "bob"])["changed"] is False
    assert scene.dump() == before


@pytest.mark.parametrize("sequence", [["ada"], ["ada", "bob", "bob"], ["ada", "ada"], ["bob"]])
def test_an_order_names_every_member_exactly_once(scene: Scene, sequence: list[str]) -> None:
    ada, _bob = scene.joined("ada", "bob")
    with refused("invalid_sequence") as caught:
        ada.here("rooms.reorder", sequence=sequence)
    assert caught.value.details == {"members": ["ada", "bob"]}


def test_an_order_takes_names_and_refuses_those_that_nobody_has(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    bob.here("agents.register", name="amber-otter")
    assert ada.here("rooms.reorder", sequence=["amber-otter", "ada"])["sequence"] == ["bob", "ada"]
    with scene.refused("agent_not_found"):
        ada.here("rooms.reorder", sequence=["ada", "eve"])


def test_an_empty_order_is_refused(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("invalid_input"):
        ada.here("rooms.reorder", sequence=[])


def test_a_turn_that_is_kept_for_somebody_stays_kept(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    cyd.here("rooms.reorder", sequence=["cyd", "bob", "ada"])
    state = bob.state()
    assert (state["reserved_for"], state["sequence_index"]) == ("bob", 1)
    assert bob.release(bob.claim())["reserved_for"] == "ada"


def test_a_newcomer_goes_behind_a_reordered_sequence(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.here("rooms.reorder", sequence=["bob", "ada"])
    scene.joined("cyd")
    assert order(ada) == [("bob", 0), ("ada", 1), ("cyd", 2)]


def test_a_stranger_cannot_reorder(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("unknown_member"):
        scene.stranger(ada.room_id).here("rooms.reorder", sequence=["ada"])
