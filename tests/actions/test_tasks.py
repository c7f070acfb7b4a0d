"""How a task goes, said by whoever works on it."""

from __future__ import annotations

import pytest

from tests.scene import Row, Scene, refused


@pytest.mark.parametrize("status", ["running", "blocked", "ready"])
def test_a_task_is_updated_by_an_event(scene: Scene, status: str) -> None:
    boss, _ = scene.joined("boss", "worker")

    done = boss.here("actions.task", task_id="t1", status=status, context={"context_id": "c1", "owner_id": "boss"})

    (event,) = boss.events(kinds=["x.tally.action.task_updated"])
    assert done == {"room_id": boss.room_id, "task_id": "t1", "status": status, "seq": event["seq"]}
    assert event["data"] == {
        "task_id": "t1",
        "status": status,
        "context": {"context_id": "c1", "owner_id": "boss"},
    }


def test_a_task_is_done_with_or_without_a_summary(scene: Scene) -> None:
    (boss,) = scene.joined("boss")

    boss.here("actions.task", task_id="t1", status="done")
    boss.here("actions.task", task_id="t2", status="done", summary="shipped")

    assert [event["data"] for event in boss.events(kinds=["x.tally.action.task_done"])] == [
        {"task_id": "t1", "status": "done"},
        {"task_id": "t2", "status": "done", "summary": "shipped"},
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"task_id": ""},
        {"status": "finished"},
        {"status": "running", "summary": "too early"},
        {"context": {"context_id": 7}},
    ],
)
def test_what_says_nothing_of_a_task_is_refused(scene: Scene, wrong: Row) -> None:
    (boss,) = scene.joined("boss")

    with refused("invalid_input"):
        boss.here("actions.task", **{"task_id": "t1", "status": "done", **wrong})


def test_a_stranger_says_nothing_of_a_task(scene: Scene) -> None:
    (boss,) = scene.joined("boss")

    with refused("unknown_member"):
        scene.stranger(boss.room_id).here("actions.task", task_id="t1", status="done")
