"""Whose a path is to somebody about to change it; found by room or by workspace, creating nothing."""

from __future__ import annotations

from typing import cast

from tests.reservations.calls import check, reserve, verdicts
from tests.scene import Row, Scene, refused


def test_each_path_has_a_verdict_of_its_own(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "mine")
    theirs = reserve(bob, "theirs/*")
    shared = reserve(bob, "both", mode="shared")
    assert ada.here("reservations.check", paths=["mine/a.py", "theirs/b.py", "both", "free.py"]) == {
        "room_id": ada.room_id,
        "agent_id": "ada",
        "paths": [
            {
                "path": "mine/a.py",
                "verdict": "mine",
                "reservation_id": check(ada, "mine")[0]["reservation_id"],
                "held_by": "ada",
                "name": "ada",
                "until": "2026-09-21T16:13:20.000Z",
                "overlap": "partial",
                "liveness": "active",
                "reserved": "mine",
            },
            {
                "path": "theirs/b.py",
                "verdict": "taken",
                "reservation_id": theirs["reservation_id"],
                "held_by": "bob",
                "name": "bob",
                "until": "2026-09-21T16:13:20.000Z",
                "overlap": "partial",
                "liveness": "active",
                "reserved": "theirs/*",
            },
            {
                "path": "both",
                "verdict": "shared",
                "reservation_id": shared["reservation_id"],
                "held_by": "bob",
                "name": "bob",
                "until": "2026-09-21T16:13:20.000Z",
                "overlap": "exact",
                "liveness": "active",
                "reserved": "both",
            },
            {"path": "free.py", "verdict": "free"},
        ],
    }


def test_a_folder_is_taken_when_something_in_it_is(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(bob, "src/a.py")
    assert verdicts(ada, "src", "src/a.py", "src/b.py", ".") == ["taken", "taken", "free", "taken"]


def test_an_exclusive_holder_keeps_its_path_though_others_share_it(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(ada, "src")
    reserve(bob, "src/a.py", mode="shared")
    assert (verdicts(ada, "src/a.py"), verdicts(bob, "src/a.py", "src/b.py")) == (["mine"], ["shared", "taken"])


def test_a_silent_holder_still_has_its_path_and_its_liveness_is_said(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(bob, "src")
    scene.kill(bob)
    (found,) = check(ada, "src/a.py")
    assert (found["verdict"], found["liveness"]) == ("taken", "evicted")


def test_what_ran_out_is_free_at_once(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(bob, "src", ttl_minutes=5)
    scene.clock.forward(minutes=5)
    assert verdicts(ada, "src/a.py") == ["free"]


def test_a_workspace_path_leads_to_its_room(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(bob, "src/a.py")
    below = scene.folder("src")
    found = ada.call("reservations.check", path=str(below), paths=["src/a.py", str(below / "a.py"), "a.py"])
    assert found["room_id"] == ada.room_id
    assert [each["verdict"] for each in cast("list[Row]", found["paths"])] == ["taken", "taken", "free"]


def test_without_a_room_everything_is_free_and_nothing_is_created(scene: Scene) -> None:
    ada = scene.agent("ada")
    before = scene.dump()
    assert ada.call("reservations.check", path=str(scene.workspace), paths=["src/a.py"]) == {
        "room_id": None,
        "agent_id": "ada",
        "paths": [{"path": "src/a.py", "verdict": "free"}],
    }
    assert scene.dump() == before


def test_a_path_is_taken_literally_and_what_lies_outside_is_free(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    reserve(bob, "src")
    assert verdicts(ada, "src/a*.py", "src/[x]", "/etc/passwd", "../elsewhere") == ["taken", "taken", "free", "free"]


def test_a_stranger_may_look_and_the_question_must_be_whole(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    reserve(ada, "src")
    assert verdicts(scene.stranger(ada.room_id), "src") == ["taken"]
    both: dict[str, object] = {"room_id": ada.room_id, "path": "/", "paths": ["x"]}
    for wrong in ({"paths": ["x"]}, both, {"room_id": ada.room_id}):
        with refused("invalid_input"):
            ada.call("reservations.check", **wrong)
    with refused("room_not_found"):
        ada.call("reservations.check", room_id="nowhere", paths=["x"])


def test_what_overlaps_somebody_elses_is_said_to_be_contested(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    outer = reserve(ada, "src/api")["reservation_id"]
    reserve(ada, "src/api/own.py")
    reserve(ada, "src/apis")
    inner = reserve(bob, "src/api/v1/a.py", mode="shared")["reservation_id"]
    found = ada.here("reservations.status")
    assert sorted(cast("list[str]", found["contested"])) == sorted([outer, inner])
    assert ada.here("reservations.status", ended=True)["contested"] == []
