"""The stick as a picture: one lane per agent, one bar per turn, and a line wherever the stick changed hands.

Pure geometry, across in percent and down in pixels, so that it fits any width; the template only draws it. The window
is as long as it was chosen to be: a bar does not move or shrink while one looks at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tallystick.capabilities.turns.contract import StickEvent
from tallystick.kernel.clock import Instant

TOP, PITCH, BAR, TICKS_BELOW = 8, 30, 18, 22
NARROWEST = 0.5
"""Percent of the width."""
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
STEPS = 10
"""The window moves on by so many parts of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartWindow:
    """How much time the picture shows."""

    name: str
    length: int
    tick: int


WINDOWS: Sequence[ChartWindow] = (
    ChartWindow(name="2min", length=2 * _MINUTE, tick=30 * _SECOND),
    ChartWindow(name="10min", length=10 * _MINUTE, tick=2 * _MINUTE),
    ChartWindow(name="1h", length=_HOUR, tick=10 * _MINUTE),
    ChartWindow(name="6h", length=6 * _HOUR, tick=_HOUR),
    ChartWindow(name="1d", length=_DAY, tick=4 * _HOUR),
    ChartWindow(name="1w", length=7 * _DAY, tick=_DAY),
)
USUAL = WINDOWS[2]


def window(name: str, age: int) -> ChartWindow:
    """The one that was asked for; else an hour, or less for a room that is younger."""
    short = next((each for each in WINDOWS if each.length >= age or each is USUAL), USUAL)
    return next((each for each in WINDOWS if each.name == name), short)


@dataclass(slots=True, kw_only=True)
class HeldTurn:
    agent_id: str
    turn_id: int
    start: Instant
    end: Instant | None = None
    how: str = ""
    """How it ended: release, pass, takeover, revoke or close."""
    seq: int | None = None
    """The event that ended it."""
    said: str = ""
    taken: bool = False
    """It began with a takeover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    turn: HeldTurn
    x: float
    y: int
    width: float

    @property
    def lost(self) -> bool:
        return self.turn.how in {"takeover", "revoke"}

    @property
    def end(self) -> float:
        return round(self.x + self.width, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """From the end of one bar to the start of the next."""

    x1: float
    y1: int
    x2: float
    y2: int
    taken: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    lanes: Sequence[tuple[str, int]]
    bars: Sequence[Bar]
    links: Sequence[Link]
    ticks: Sequence[tuple[float, Instant]]
    fine: bool
    """Its marks are less than a minute apart."""
    height: int
    now: float | None
    """Where the present is; None in a picture of the past."""
    earlier: Instant | None
    """Where a picture of the time before would end."""
    later: Instant | None


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
            taken = kind == "takeover"
            found.append(HeldTurn(agent_id=event.to_agent_id, turn_id=event.turn_id, start=at, taken=taken))
    return found


def draw(
    events: Sequence[StickEvent],
    order: Sequence[str],
    now: Instant,
    *,
    begun: Instant = 0,
    window: ChartWindow = USUAL,
    end: Instant | None = None,
) -> Chart | None:
    """The turns of a window, in the members' order; None when nobody has held the stick."""
    every = turns(events)
    if not every:
        return None
    until = _until(begun, now, window, end)
    since = until - window.length
    held = [turn for turn in every if (turn.end or now) >= since and turn.start <= until] or every[-1:]
    names = [*(name for name in order if any(turn.agent_id == name for turn in held)), *(t.agent_id for t in held)]
    rows = {name: TOP + PITCH * index for index, name in enumerate(dict.fromkeys(names))}
    bars = [_bar(turn, rows[turn.agent_id], since, until, now) for turn in held]
    return Chart(
        lanes=list(rows.items()),
        bars=bars,
        links=[_link(before, after) for before, after in pairwise(bars)],
        ticks=[
            (_x(at, since, until), at) for at in range((since // window.tick + 1) * window.tick, until, window.tick)
        ],
        fine=window.tick < _MINUTE,
        height=TOP + PITCH * len(rows) + TICKS_BELOW,
        now=_x(now, since, until) if since <= now <= until else None,
        earlier=since if every[0].start < since else None,
        later=min(until + window.length, now + window.length) if until < now else None,
    )


def _until(begun: Instant, now: Instant, window: ChartWindow, end: Instant | None) -> Instant:
    """Where the window ends: it begins with the room at the earliest, and moves on in steps, not all the time."""
    if end is not None:
        return max(end, begun + window.length)
    step = window.length // STEPS
    return max(begun + window.length, (now // step + 1) * step)


def _x(at: Instant, since: Instant, until: Instant) -> float:
    return round(100 * max(0.0, min(1.0, (at - since) / (until - since))), 2)


def _bar(turn: HeldTurn, y: int, since: Instant, until: Instant, now: Instant) -> Bar:
    x, end = _x(turn.start, since, until), _x(turn.end or now, since, until)
    return Bar(turn=turn, x=min(x, 100 - NARROWEST), y=y, width=max(NARROWEST, round(end - x, 2)))


def _link(before: Bar, after: Bar) -> Link:
    down = after.y > before.y
    return Link(
        x1=before.end,
        y1=before.y + (BAR if down else 0),
        x2=after.x,
        y2=after.y + (0 if down else BAR),
        taken=after.turn.taken,
    )
