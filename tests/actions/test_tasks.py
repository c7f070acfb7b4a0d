"""How a task goes, said by whoever works on it."""

from __future__ import annotations

import pytest

from tests.actions.calls import message, pending, submit
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

    with scene.refused("invalid_input"):
        boss.here("actions.task", **{"task_id": "t1", "status": "done", **wrong})


def test_a_stranger_says_nothing_of_a_task(scene: Scene) -> None:
    (boss,) = scene.joined("boss")

    with scene.refused("unknown_member"):
        scene.stranger(boss.room_id).here("actions.task", task_id="t1", status="done")


def test_a_task_of_the_room_changes_with_what_is_said_of_it(scene: Scene) -> None:
    (boss,) = scene.joined("boss")
    task_id = boss.here("tasks.create", title="Rewrite the parser")["task_id"]

    boss.here("actions.task", task_id=task_id, status="running")
    boss.here("actions.task", task_id=task_id, status="running")
    running = boss.here("tasks.show", task=task_id)
    boss.here("actions.task", task_id=task_id, status="done", summary="shipped")
    done = boss.here("tasks.show", task=task_id)

    assert (running["status"], done["status"], done["summary"]) == ("running", "done", "shipped")
    assert len(boss.events(kinds=["x.tally.task.update"])) == 2


def test_a_task_that_is_not_there_cannot_go_on(scene: Scene) -> None:
    (boss,) = scene.joined("boss")

    with refused("unknown_task"):
        boss.here("actions.task", task_id="TASK-404", status="running")

    assert boss.events(kinds=["x.tally.action.task_updated"]) == []


def test_an_action_is_opened_by_its_id(scene: Scene) -> None:
    boss, worker = scene.joined("boss", "worker")
    submit(boss, message("a1", "worker"))

    opened = boss.here("open.ref", id="a1")

    assert (opened["kind"], opened["ref"], opened["value"]) == ("action", "a1", pending(worker)["next"])
