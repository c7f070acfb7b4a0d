"""A diary keeps what was asked before the answer is known, so that a killed process loses at most its last answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos import diary
from tests.chaos.diary import Diary, Outcome
from tests.scene import Actor, Scene


@pytest.fixture
def ada(scene: Scene) -> Actor:
    (ada,) = scene.joined("ada")
    return ada


@pytest.fixture
def path(scene: Scene, ada: Actor, tmp_path: Path) -> Path:
    """The diary of an agent that appended an event, was refused once, and appended another event."""
    writing = Diary(tmp_path / "ada.jsonl", scene.hub, ada.caller)
    for kind in ("x.acme.first", "turns.pass", "x.acme.second"):
        writing.call("events.append", room_id=ada.room_id, kind=kind, data={})
    return tmp_path / "ada.jsonl"


def outcomes(path: Path) -> list[tuple[object, Outcome]]:
    return [(attempt.given["kind"], attempt.outcome) for attempt in diary.read(path)]


def test_every_attempt_is_read_back_with_its_outcome(path: Path, ada: Actor) -> None:
    assert outcomes(path) == [
        ("x.acme.first", Outcome.OK),
        ("turns.pass", Outcome.REFUSED),
        ("x.acme.second", Outcome.OK),
    ]
    first, refused, second = diary.read(path)
    assert (first.by, first.operation, refused.code) == ("ada", "events.append", "reserved_kind")
    assert first.answered_at is not None
    assert first.asked_at <= first.answered_at <= refused.asked_at < second.asked_at


def test_a_question_without_an_answer_was_cut_off(path: Path) -> None:
    *lines, _ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines))

    assert outcomes(path)[-1] == ("x.acme.second", Outcome.CUT_OFF)


def test_half_a_line_at_the_end_counts_as_not_written(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])

    assert outcomes(path)[-1] == ("x.acme.second", Outcome.CUT_OFF)
