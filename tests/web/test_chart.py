"""The stick's picture: its window is fixed, its marks can be told apart, and what was taken over is drawn as that."""

from __future__ import annotations

from typing import Literal

import pytest

from tallystick.capabilities.turns.contract import StickEvent
from tallystick.kernel.operation import moment
from tallystick.surfaces.web import chart

MINUTE = 60_000
BEGUN = 1_789_999_920_000
"""At the beginning of a step of the window of an hour."""
HANDOFF = {"status": "wrote the plan", "next_action": "review the plan"}


def event(
    seq: int, kind: Literal["claim", "release", "takeover"], at: int, to: str | None = None, turn_id: int = 1
) -> StickEvent:
    return StickEvent(
        event_seq=seq,
        event_id=str(seq),
        room_id="R",
        event_type=kind,
        turn_id=turn_id,
        from_agent_id=None,
        to_agent_id=to,
        handoff=HANDOFF if kind == "release" else None,
        reason="silence" if kind == "takeover" else None,
        created_at=moment(BEGUN + at * MINUTE),
    )


HELD = [
    event(1, "claim", 200, "ada"),
    event(2, "release", 215),
    event(3, "claim", 216, "bob", 2),
    event(4, "takeover", 225, "cleo", 3),
]


def drawn(now: float, window: str = "1h") -> chart.Chart:
    found = chart.draw(
        HELD,
        ("ada", "bob", "cleo"),
        int(BEGUN + now * MINUTE),
        begun=BEGUN,
        window=chart.window(window, 240 * MINUTE),
    )
    assert found is not None
    return found


def test_a_bar_does_not_move_while_one_looks_at_it() -> None:
    first, later = drawn(229), drawn(233)

    assert [(bar.x, bar.width) for bar in first.bars[:2]] == [(bar.x, bar.width) for bar in later.bars[:2]]
    assert first.now is not None
    assert later.now is not None
    assert first.now < later.now <= 100


def test_a_takeover_is_drawn_as_one_and_a_release_is_not() -> None:
    found = drawn(231)

    assert [link.taken for link in found.links] == [False, True]
    assert [(bar.turn.agent_id, bar.lost) for bar in found.bars] == [("ada", False), ("bob", True), ("cleo", False)]


@pytest.mark.parametrize(("window", "fine"), [("2min", True), ("10min", False), ("1w", False)])
def test_marks_less_than_a_minute_apart_are_told_by_the_second(window: str, fine: bool) -> None:
    assert drawn(231, window).fine is fine
