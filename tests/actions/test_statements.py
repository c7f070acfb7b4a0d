"""How often an action's calls go to the store: what was folded under the room's lock need not be read again."""

from __future__ import annotations

import pytest

from tallystick.capabilities.actions.queries import SQL
from tallystick.hub.hub import Hub
from tests.actions.calls import answer, message, submit
from tests.scene import Scene, refused
from tests.statements import noted, taken


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note of each of this capability's statements that is run."""
    return noted(monkeypatch, SQL)


def test_a_follow_up_and_its_result_read_nothing_that_was_just_written(scene: Scene, asked: list[str]) -> None:
    boss, worker = scene.joined("boss", "worker")
    submit(boss, message("a1", "worker"), context={"context_id": "c"})
    answer(worker, "a1", "completed")
    taken(asked)

    submit(boss, message("a2", "worker"), context={"context_id": "c"})
    submitted = taken(asked)
    answer(worker, "a2", "completed")
    resulted = taken(asked)

    assert (submitted, resulted) == (4, 2)


def test_a_result_that_another_program_wrote_is_seen(scene: Scene) -> None:
    boss, worker = scene.joined("boss", "worker")
    submit(boss, message("a1", "worker"))
    other = Hub(scene.store, clock=scene.clock, machine_id="test-machine")
    given = {"room_id": worker.room_id, "action_id": "a1", "status": "completed"}
    other.call("actions.result", given, worker.caller)

    with refused("action_finished"):
        answer(worker, "a1", "completed")
