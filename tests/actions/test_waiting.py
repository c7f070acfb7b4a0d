"""Waiting for something to do: by itself, or in the one loop of a wait for a turn."""

from __future__ import annotations

import threading
from typing import cast

from tests.actions.calls import answer, control, message, submit
from tests.scene import Row, Scene


def test_an_empty_queue_says_so_and_reading_it_creates_nothing(scene: Scene) -> None:
    (boss,) = scene.joined("boss")
    before = scene.dump()

    found = scene.stranger(boss.room_id).here("actions.pending")

    assert found == {"agent_id": "stranger", "next": None, "waiting": 0, "open": [], "awaited": []}
    assert scene.dump() == before


def test_anybody_may_look_at_somebody_elses_queue(scene: Scene) -> None:
    boss, _ = scene.joined("boss", "worker")
    submit(boss, message("a1", "worker"), message("a2", "worker"))

    found = boss.here("actions.pending", agent_id="worker")

    assert (cast("Row", found["next"])["action_id"], found["waiting"]) == ("a1", 2)


def test_a_wait_ends_when_an_action_comes(scene: Scene) -> None:
    boss, worker = scene.joined("boss", "worker")
    found: list[Row] = []
    thread = threading.Thread(
        target=lambda: found.append(worker.here("actions.pending", max_wait_ms=60_000)), daemon=True
    )
    thread.start()

    submit(boss, message("a1", "worker"))
    thread.join(60)

    assert found[0]["next"]["action_id"] == "a1"


def test_an_unknown_room_has_no_queue(scene: Scene) -> None:
    with scene.refused("room_not_found"):
        scene.agent("ada").call("actions.pending", room_id="nowhere")


def test_one_wait_brings_the_turn_and_the_action(scene: Scene) -> None:
    boss, worker = scene.joined("boss", "worker")
    boss.claim()
    submit(boss, control("a1", "worker", "review", args="src"))

    found = worker.here("turns.wait", include=["turn", "actions"], max_wait_ms=60_000)

    (action,) = cast("list[Row]", found["actions"])
    assert (found["status"], action["action_id"], action["args"]) == ("not_yet", "a1", "src")


def test_a_wait_for_actions_alone_takes_no_turn_and_needs_no_listener(scene: Scene) -> None:
    boss, worker = scene.joined("boss", "worker")

    first = worker.here("turns.wait", include=["actions"], max_wait_ms=0)
    submit(boss, message("a1", "worker"))
    second = worker.here("turns.wait", include=["actions"], max_wait_ms=60_000)
    answer(worker, "a1", "completed")
    third = worker.here("turns.wait", include=["actions"], max_wait_ms=0)

    assert [len(cast("list[Row]", each["actions"])) for each in (first, second, third)] == [0, 1, 0]
    assert worker.state()["owner"] is None


def test_one_wait_brings_an_actions_message_and_the_action(scene: Scene) -> None:
    boss, worker = scene.joined("boss", "worker")
    submit(boss, message("a1", "worker", "hello"))

    found = worker.here("turns.wait", include=["messages", "actions"], max_wait_ms=60_000)

    assert [each["data"]["text"] for each in cast("list[Row]", found["messages"])] == ["hello"]
    assert [each["text"] for each in cast("list[Row]", found["actions"])] == ["hello"]
