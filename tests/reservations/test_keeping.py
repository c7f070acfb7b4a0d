"""Keeping and giving back a path: only its holder may, and who lost it is told who has it now."""

from __future__ import annotations

import pytest

from tallystick.hub import maintenance
from tests.reservations.calls import archived, held, paths, reserve
from tests.scene import Scene, refused


@pytest.mark.parametrize("how", ["path", "reservation_id"])
def test_a_holder_renews_and_releases_by_path_or_by_id(scene: Scene, how: str) -> None:
    (ada,) = scene.joined("ada")
    mine = reserve(ada, "src/a.py", mode="shared", task_id="TASK-1")
    scene.clock.forward(minutes=100)
    renewed = ada.here("reservations.renew", ttl_minutes=30, **{how: mine[how]})
    assert renewed == {
        "room_id": ada.room_id,
        "reservation": {**mine, "until": "2026-09-21T16:23:20.000Z"},
    }
    assert ada.here("reservations.release", **{how: mine[how]}) == {
        "status": "released",
        "room_id": ada.room_id,
        "reservation_id": mine["reservation_id"],
        "path": "src/a.py",
    }
    (old,) = held(ada, ended=True)
    assert (old["state"], old["ended_by"], old["ending"]) == ("released", "ada", None)
    assert maintenance.check(scene.hub) == []


@pytest.mark.parametrize("operation", ["reservations.renew", "reservations.release"])
def test_what_somebody_else_holds_is_not_yours_to_change(scene: Scene, operation: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    mine = reserve(ada, "src")
    with refused("not_your_reservation") as caught:
        bob.here(operation, path="src/a.py")
    assert (caught.value.details["held_by"], caught.value.details["until"]) == ("ada", mine["until"])
    with refused("not_your_reservation") as caught:
        bob.here(operation, reservation_id=mine["reservation_id"])
    assert caught.value.details["held_by"] == "ada"
    assert paths(ada) == [("ada", "src")]


@pytest.mark.parametrize("operation", ["reservations.renew", "reservations.release"])
@pytest.mark.parametrize("how", ["path", "reservation_id"])
def test_what_was_taken_over_is_refused_with_who_has_it_now(scene: Scene, operation: str, how: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    mine = reserve(ada, "src")
    scene.clock.forward(minutes=20)
    reserve(bob, "src/a.py", takeover_stale=True)
    with refused("reservation_lost") as caught:
        ada.here(operation, **{how: mine[how]})
    assert caught.value.message == ("You lost src: bob took it over at 2026-09-21T14:33:20.000Z. bob has it now.")
    assert (caught.value.details["state"], caught.value.details["held_by"]) == ("expired", "bob")
    assert paths(bob) == [("bob", "src/a.py")]


@pytest.mark.parametrize("operation", ["reservations.renew", "reservations.release"])
def test_what_ran_out_is_refused_and_archived(scene: Scene, operation: str) -> None:
    (ada,) = scene.joined("ada")
    reserve(ada, "src", ttl_minutes=5)
    scene.clock.forward(minutes=5)
    with refused("reservation_lost") as caught:
        ada.here(operation, path="src")
    assert caught.value.message == "You lost src: it ran out at 2026-09-21T14:18:20.000Z. Nobody has it now."
    assert len(archived(ada)) == 1
    with refused("reservation_lost"):
        ada.here(operation, path="src")
    assert len(archived(ada)) == 1
    assert maintenance.check(scene.hub) == []


def test_a_late_release_never_frees_what_was_reserved_again_since(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    first = reserve(ada, "src")
    ada.here("reservations.release", path="src")
    second = reserve(ada, "src")
    assert second["fence"] > first["fence"]
    with refused("reservation_lost") as caught:
        ada.here("reservations.release", path="src", fence=first["fence"])
    assert caught.value.details["fence"] == second["fence"]
    with refused("reservation_lost"):
        ada.here("reservations.release", reservation_id=first["reservation_id"])
    assert len(held(ada)) == 1
    ada.here("reservations.release", path="src", fence=second["fence"])
    assert held(ada) == []


@pytest.mark.parametrize("operation", ["reservations.renew", "reservations.release"])
def test_what_nobody_reserved_is_refused_never_answered_with_nothing(scene: Scene, operation: str) -> None:
    (ada,) = scene.joined("ada")
    for given in ({"path": "src"}, {"reservation_id": "nothing"}):
        with scene.refused("reservation_not_found"):
            ada.here(operation, **given)
    for wrong in ({}, {"path": "src", "reservation_id": "x"}):
        with scene.refused("invalid_input"):
            ada.here(operation, **wrong)


def test_renewing_does_not_widen_a_reservation_below(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    reserve(ada, "src")
    with scene.refused("reservation_not_found"):
        ada.here("reservations.release", path="src/a.py")
