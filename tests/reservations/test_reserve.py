"""Getting a path: granted, refreshed, refused, shared, taken over; and what each leaves on the ledger."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.hub import maintenance
from tests.reservations.calls import archived, held, incursions, paths, reserve, verdicts
from tests.scene import Row, Scene, refused


def test_a_free_path_is_granted_for_two_hours(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    given = ada.here("reservations.reserve", path="src/parser.py", task_id="TASK-001")
    assert given == {
        "status": "granted",
        "room_id": ada.room_id,
        "reservation": held(ada)[0],
        "took_over": [],
        "overlaps": [],
    }
    (event,) = ada.events(kinds=["x.tally.reservation.grant"])
    assert held(ada) == [
        {
            "reservation_id": event["data"]["reservation_id"],
            "room_id": ada.room_id,
            "path": "src/parser.py",
            "agent_id": "ada",
            "name": "ada",
            "liveness": "active",
            "mode": "exclusive",
            "task_id": "TASK-001",
            "fence": event["seq"],
            "granted_at": "2026-09-21T14:13:20.000Z",
            "until": "2026-09-21T16:13:20.000Z",
            "state": "active",
            "ended_at": None,
            "ended_by": None,
            "ending": None,
        }
    ]
    assert event["by"] == "ada"


def test_the_same_path_again_keeps_it_longer_under_the_same_fence(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    first = reserve(ada, "src/*")
    scene.clock.forward(minutes=10)
    again = ada.here("reservations.reserve", path="src", ttl_minutes=5, task_id="TASK-2")
    assert again["status"] == "refreshed"
    assert again["reservation"] == {
        **first,
        "path": "src",
        "until": "2026-09-21T14:28:20.000Z",
        "task_id": "TASK-2",
    }
    assert len(held(ada)) == 1


def test_ones_own_reservations_may_overlap(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    reserve(ada, "src")
    reserve(ada, "src/a.py")
    assert paths(ada) == [("ada", "src"), ("ada", "src/a.py")]
    assert incursions(ada) == []


@pytest.mark.parametrize(
    ("holds", "wants", "overlap"),
    [("src/a.py", "src/a.py", "exact"), ("src", "src/a.py", "partial"), ("src/a.py", "src/*", "partial")],
)
def test_what_overlaps_an_active_agents_reservation_is_refused_with_its_holder(
    scene: Scene, holds: str, wants: str, overlap: str
) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.here("agents.update", name="Ada-the-builder")
    mine = reserve(ada, holds)
    with refused("reservation_conflict") as caught:
        reserve(bob, wants)
    holder = {
        "reservation_id": mine["reservation_id"],
        "held_by": "ada",
        "name": "Ada-the-builder",
        "path": holds,
        "mode": "exclusive",
        "until": "2026-09-21T16:13:20.000Z",
        "overlap": overlap,
        "liveness": "active",
    }
    assert caught.value.details == {**holder, "owner": "ada", "conflicts": [holder]}
    assert "Ada-the-builder (ada)" in caught.value.message
    assert "2026-09-21T16:13:20.000Z" in caught.value.message
    assert paths(bob) == [("ada", holds)]


def test_what_is_next_to_it_is_granted(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "src/lib")
    for path in ("src/library", "src/lib.py", "src/components", "lib"):
        reserve(bob, path)
    assert len(held(bob, agent_id="bob")) == 4


def test_a_refused_attempt_is_recorded_for_both_sides_to_see(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    mine = reserve(ada, "src", task_id="TASK-7")
    with refused("reservation_conflict"):
        reserve(bob, "src/a.py")
    (event,) = ada.events(kinds=["x.tally.protocol.incursion"])
    assert event["by"] == "system"
    assert event["data"] == {
        "task_id": "TASK-7",
        "from_agent": "bob",
        "to_agent": "ada",
        "scope": "src/a.py",
        "key": "src/a.py",
        "reservation_id": mine["reservation_id"],
        "granted": False,
        "payload": {
            "incursion_kind": "partial",
            "owner_agent": "ada",
            "incoming_agent": "bob",
            "owner_liveness": "active",
            "resolution_hint": "bob waits until ada releases src (at the latest 2026-09-21T16:13:20.000Z), "
            "or works elsewhere.",
        },
    }
    assert maintenance.check(scene.hub) == []


def test_a_repeated_attempt_is_recorded_once_while_the_overlap_lasts(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "src")
    for path in ("src/a.py", "src/a.py", "src/./a.py", "src/b.py"):
        with refused("reservation_conflict"):
            reserve(bob, path)
    assert [each["scope"] for each in incursions(ada)] == ["src/a.py", "src/b.py"]
    reserve(ada, "src", ttl_minutes=60)
    with refused("reservation_conflict"):
        reserve(bob, "src/a.py")
    assert len(incursions(ada)) == 2

    ada.here("reservations.release", path="src")
    reserve(ada, "src")
    with refused("reservation_conflict"):
        reserve(bob, "src/a.py")
    assert len(incursions(ada)) == 3
    assert maintenance.check(scene.hub) == []


def test_an_attempt_is_recorded_again_when_the_owner_has_fallen_silent(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "src")
    for minutes, code in ((0, "conflict"), (0, "conflict"), (16, "stale"), (1, "stale")):
        scene.clock.forward(minutes=minutes)
        with refused(f"reservation_{code}"):
            reserve(bob, "src/a.py")

    seen = [each["payload"]["owner_liveness"] for each in incursions(ada)]
    assert seen == ["active", "stale"]
    assert "take src over with takeover_stale" in incursions(ada)[-1]["payload"]["resolution_hint"]
    assert maintenance.check(scene.hub) == []


def test_an_attempt_is_recorded_against_every_reservation_it_runs_into(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    reserve(ada, "src/a.py")
    reserve(bob, "src/b.py")
    with refused("reservation_conflict") as caught:
        reserve(cyd, "src")
    assert [each["to_agent"] for each in incursions(cyd)] == ["ada", "bob"]
    conflicts = cast("list[Row]", caught.value.details["conflicts"])
    assert [each["held_by"] for each in conflicts] == ["ada", "bob"]


def test_a_shared_reservation_is_granted_and_recorded(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    mine = reserve(ada, "src")
    given = bob.here("reservations.reserve", path="src/a.py", mode="shared")
    assert given["status"] == "granted"
    assert given["overlaps"] == [
        {
            "reservation_id": mine["reservation_id"],
            "path": "src",
            "held_by": "ada",
            "name": "ada",
            "mode": "exclusive",
            "until": "2026-09-21T16:13:20.000Z",
            "overlap": "partial",
            "liveness": "active",
        }
    ]
    (incursion,) = incursions(ada)
    assert incursion["granted"] is True
    assert incursion["payload"]["resolution_hint"] == (
        "bob and ada share src: agree who edits what before either commits."
    )


def test_an_exclusive_reservation_waits_for_a_shared_one(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    reserve(ada, "docs", mode="shared")
    reserve(bob, "docs/a.md", mode="shared")
    with refused("reservation_conflict"):
        reserve(cyd, "docs/a.md")
    with refused("reservation_conflict"):
        reserve(ada, "docs", mode="exclusive")
    assert [each["mode"] for each in held(ada)] == ["shared", "shared"]


@pytest.mark.parametrize(
    ("minutes", "dead", "liveness"), [(15, False, "stale"), (30, False, "evicted"), (0, True, "evicted")]
)
def test_a_silent_owner_yields_only_to_an_explicit_takeover(
    scene: Scene, minutes: int, dead: bool, liveness: str
) -> None:
    ada, bob = scene.joined("ada", "bob")
    mine = reserve(ada, "src")
    scene.clock.forward(minutes=minutes)
    if dead:
        scene.kill(ada)
    with refused("reservation_stale") as caught:
        reserve(bob, "src/a.py")
    assert (caught.value.details["liveness"], caught.value.details["owner"]) == (liveness, "ada")

    given = bob.here("reservations.reserve", path="src/a.py", takeover_stale=True)
    took_over = cast("list[Row]", given["took_over"])
    assert [(each["held_by"], each["liveness"]) for each in took_over] == [("ada", liveness)]
    assert paths(bob) == [("bob", "src/a.py")]
    (event,) = bob.events(kinds=["x.tally.reservation.expire"])
    assert (event["by"], event["data"]) == (
        "bob",
        {
            "reservation_id": mine["reservation_id"],
            "agent_id": "ada",
            "path": "src",
            "until": "2026-09-21T16:13:20.000Z",
            "ending": "taken_over",
            "taken_by": "bob",
            "liveness": liveness,
        },
    )
    (old,) = held(bob, ended=True)
    assert (old["state"], old["ended_by"], old["ending"]) == ("expired", "bob", "taken_over")
    assert [each["payload"]["owner_liveness"] for each in incursions(bob)] == [liveness]
    assert maintenance.check(scene.hub) == []


def test_an_active_owner_never_yields(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "src")
    scene.clock.forward(minutes=14)
    with refused("reservation_conflict"):
        reserve(bob, "src", takeover_stale=True)
    assert archived(bob) == []


def test_a_takeover_that_meets_one_active_owner_takes_nothing_from_anybody(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    reserve(ada, "src/a.py")
    reserve(bob, "src/b.py")
    scene.kill(ada)
    with refused("reservation_conflict") as caught:
        reserve(cyd, "src", takeover_stale=True)
    assert caught.value.details["owner"] == "bob"
    assert paths(cyd) == [("ada", "src/a.py"), ("bob", "src/b.py")]


def test_one_that_has_run_out_is_no_obstacle_and_is_archived_by_whoever_comes_next(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    mine = reserve(ada, "src", ttl_minutes=5)
    scene.clock.forward(minutes=4, ms=59_999)
    with refused("reservation_conflict"):
        reserve(bob, "src")
    scene.clock.forward(ms=1)
    assert [each["state"] for each in held(ada, ended=True)] == ["expired"]
    assert (held(ada), archived(ada)) == ([], [])
    reserve(bob, "elsewhere")
    assert archived(ada) == [
        {
            "reservation_id": mine["reservation_id"],
            "agent_id": "ada",
            "path": "src",
            "until": "2026-09-21T14:18:20.000Z",
            "ending": "ttl",
        }
    ]
    reserve(bob, "src")
    assert verdicts(ada, "src/x") == ["taken"]
    assert maintenance.check(scene.hub) == []


def test_who_leaves_gives_its_paths_back(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "src")
    with refused("reservation_conflict"):
        reserve(bob, "src")
    ada.here("rooms.leave")
    reserve(bob, "src")
    assert paths(bob) == [("bob", "src")]
    assert maintenance.check(scene.hub) == []


def test_a_closed_room_holds_nothing_and_takes_nothing(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    reserve(ada, "src")
    ada.here("rooms.close")
    assert held(ada) == []
    with refused("room_closed"):
        reserve(ada, "src")
    assert maintenance.check(scene.hub) == []


def test_only_members_reserve(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("unknown_member"):
        reserve(scene.stranger(ada.room_id), "src")
    with scene.refused("room_not_found"):
        reserve(scene.stranger("nowhere"), "src")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"ttl_minutes": 4}, "invalid_input"),
        ({"ttl_minutes": 1441}, "invalid_input"),
        ({"ttl_minutes": "120"}, "invalid_input"),
        ({"mode": "greedy"}, "invalid_input"),
        ({"path": "../x"}, "path_outside"),
        ({"path": "/etc/passwd"}, "path_outside"),
        ({"path": "src/*.py"}, "glob_not_supported"),
        ({"path": ""}, "invalid_input"),
        ({"path": 7}, "invalid_input"),
        ({"path": "x" * 5000}, "too_large"),
        ({"scope": "src"}, "unknown_field"),
        ({"task_id": ""}, "invalid_input"),
    ],
)
def test_what_cannot_be_reserved_is_refused_and_leaves_nothing(
    scene: Scene, given: dict[str, object], code: str
) -> None:
    (ada,) = scene.joined("ada")
    before = scene.dump()
    with refused(code):
        ada.here("reservations.reserve", **{"path": "src", **given})
    assert scene.dump() == before
