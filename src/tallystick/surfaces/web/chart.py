"""The stick as a picture: one lane per agent, one bar per turn, and a line wherever the stick changed hands.

Pure geometry in a drawing 1000 wide; the template only draws what is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tallystick.capabilities.turns.contract import StickEvent
from tallystick.kernel.clock import Instant
from tallystick.surfaces.web import filters

LEFT, RIGHT, TOP, PITCH, BAR = 150.0, 985.0, 10.0, 34.0, 20.0
NARROWEST = 4.0
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
SPANS = (
    *(count * _SECOND for count in (15, 30)),
    *(count * _MINUTE for count in (1, 2, 5, 10, 20, 40)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12)),
    *(count * _DAY for count in (1, 2, 4, 7)),
)
TICKS = (
    *(count * _SECOND for count in (5, 10, 30)),
    *(count * _MINUTE for count in (1, 2, 5, 10, 30)),
    *(count * _HOUR for count in (1, 2, 6, 12)),
    _DAY,
)
TURNS = 16
"""Turns that fit side by side."""


@dataclass(slots=True, kw_only=True)
class HeldTurn:
    agent_id: str
    turn_id: int
    start: Instant
    end: Instant | None = None
    how: str = ""
    """How it ended: release, pass, takeover or close."""
    seq: int | None = None
    """The event that ended it."""
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    turn: HeldTurn
    x: float
    y: float
    width: float
    lost: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """From the end of one bar to the start of the next."""

    x1: float
    y1: float
    x2: float
    y2: float
    lost: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    lanes: Sequence[tuple[str, float]]
    bars: Sequence[Bar]
    links: Sequence[Link]
    ticks: Sequence[tuple[float, Instant]]
    height: float
    span: str
    fine: bool
    """Ticks are less than a minute apart."""


def turns(events: Sequence[StickEvent]) -> list[HeldTurn]:
    """Who held the stick when, from its events, oldest first."""
    found: list[HeldTurn] = []
    for event in events:
        kind, at = event.event_type, event.created_at
        if kind != "claim" and found and found[-1].end is None:
            ended = found[-1]
            ended.end, ended.how, ended.seq = at, kind, event.event_seq
            ended.said = event.handoff["status"] if event.handoff else event.reason or ""
        if kind in {"claim", "takeover"} and event.to_agent_id:
            found.append(HeldTurn(agent_id=event.to_agent_id, turn_id=event.turn_id, start=at))
    return found


def draw(events: Sequence[StickEvent], order: Sequence[str], now: Instant) -> Chart | None:
    """The newest turns, in the members' order; None when nobody has held the stick."""
    held = turns(events)[-TURNS:]
    if not held:
        return None
    since = _window(held, now)
    held = [turn for turn in held if (turn.end or now) >= since]
    names = list(dict.fromkeys([*(name for name in order if any(t.agent_id == name for t in held)), *_names(held)]))
    rows = {name: TOP + PITCH * index for index, name in enumerate(names)}
    bars = [_bar(turn, rows[turn.agent_id], since, now) for turn in held]
    return Chart(
        lanes=list(rows.items()),
        bars=bars,
        links=[_link(before, after) for before, after in pairwise(bars)],
        ticks=_ticks(since, now),
        height=TOP + PITCH * len(names) + 24,
        span=filters.span(now - since),
        fine=now - since <= 3 * _MINUTE,
    )


def _names(held: Sequence[HeldTurn]) -> list[str]:
    return [turn.agent_id for turn in held]


def _window(held: Sequence[HeldTurn], now: Instant) -> Instant:
    """The start of the picture: a round span that shows all these turns, or as many as a week holds."""
    wanted = now - held[0].start
    return now - next((span for span in SPANS if span >= wanted), SPANS[-1])


def _x(at: Instant, since: Instant, now: Instant) -> float:
    part = (at - since) / max(now - since, 1)
    return round(LEFT + max(0.0, min(1.0, part)) * (RIGHT - LEFT), 1)


def _bar(turn: HeldTurn, y: float, since: Instant, now: Instant) -> Bar:
    x, end = _x(turn.start, since, now), _x(turn.end or now, since, now)
    return Bar(turn=turn, x=x, y=y, width=max(NARROWEST, round(end - x, 1)), lost=turn.how == "takeover")


def _link(before: Bar, after: Bar) -> Link:
    down = after.y > before.y
    return Link(
        x1=before.x + before.width,
        y1=before.y + (BAR if down else 0),
        x2=after.x,
        y2=after.y + (0 if down else BAR),
        lost=before.lost,
    )


def _ticks(since: Instant, now: Instant) -> list[tuple[float, Instant]]:
    step = next((tick for tick in TICKS if (now - since) / tick <= 6), TICKS[-1])
    first = (since // step + 1) * step
    # The last one would stand under the word "now".
    return [(_x(at, since, now), at) for at in range(first, now - step // 3, step)]
