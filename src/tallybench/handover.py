"""Handing the stick over between two processes: from sending the release to the return of the other's wait.

The baseline is the same hub, asked every 250 ms instead of waited on: what a coordination tool without a push can do.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from tallybench import access, rooms
from tallybench.access import Call, GrantedTurn
from tallybench.engines import Setting
from tallybench.report import Budget, Detail, Figure, median, percentile
from tallystick.hub.settings import Settings

POLL_S = 0.25
HANDOFF: Mapping[str, object] = {"status": "measured one turn", "next_action": "measure the next one"}

Access: TypeAlias = Literal["hub", "mcp"]
_ACCESS = {"hub": access.through_hub, "mcp": access.through_mcp}


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverAgent:
    settings: Settings
    room_id: str
    name: str
    through: Access
    polls: bool
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTurn:
    """One turn, by the machine's monotonic clock, which both processes share."""

    turn_id: int
    returned_at: float
    released_at: float


LIMITS_MS = {"sqlite": 3, "postgres": 5}
"""On PostgreSQL both transactions wait for the disk."""


def measure(setting: Setting) -> Iterator[Figure]:
    budget = Budget(of="ours", bound="at most", limit=LIMITS_MS[setting.engine.name])
    yield _figure(setting, "hub", "release to the waiter's return", (budget,))
    yield _figure(setting, "mcp", "the same between two `tally mcp` servers", ())


def _figure(setting: Setting, through: Access, what: str, budgets: tuple[Budget, ...]) -> Figure:
    rounds, turns = setting.pick(3, 1), setting.pick(20, 3)
    pushed, polled = list[float](), list[float]()
    for number in range(1, rounds + 1):
        setting.tell(f"{what}: round {number} of {rounds}")
        pushed += _delays(setting, through, polls=False, turns=turns)
        polled += _delays(setting, through, polls=True, turns=turns)
    return Figure(
        bench="handover",
        what=what,
        engine=setting.engine.name,
        unit="ms",
        ours=median(pushed),
        baseline=median(polled),
        against="asking every 250 ms",
        ratio=median(pushed) / median(polled),
        budgets=budgets,
        details=(
            Detail(name="p95", value=percentile(pushed, 0.95)),
            Detail(name="baseline p95", value=percentile(polled, 0.95)),
            Detail(name="hand-overs", value=len(pushed)),
        ),
    )


def _delays(setting: Setting, through: Access, *, polls: bool, turns: int) -> list[float]:
    """From each release to the other's return, in ms."""
    settings = setting.engine.fresh()
    room_id = rooms.make_room(settings, "handover")
    players = [
        HandoverAgent(settings=settings, room_id=room_id, name=name, through=through, polls=polls, turns=turns)
        for name in ("ada", "bo")
    ]
    held = sorted((turn for each in rooms.gather(_play, players) for turn in each), key=lambda turn: turn.turn_id)
    return [(after.returned_at - before.released_at) * 1000 for before, after in pairwise(held)]


def _play(player: HandoverAgent) -> list[TimedTurn]:
    """Take turns until there were enough; every turn but the last is handed on."""
    held = list[TimedTurn]()
    with _ACCESS[player.through](player.settings, player.name) as call:
        call("rooms.join", {"room_id": player.room_id})
        rooms.together()
        while True:
            turn = _polled(call, player) if player.polls else _awaited(call, player)
            returned_at = released_at = time.monotonic()
            if turn.turn_id <= player.turns:
                # Long enough for the other to be waiting, and evenly spread over the phase of a poll.
                time.sleep(0.01 + random.uniform(0, POLL_S))  # noqa: S311 - not a secret
                fence = {"lease_id": turn.lease_id, "expected_turn_id": turn.turn_id}
                released_at = time.monotonic()
                call("turns.release", {"room_id": player.room_id, **fence, "handoff": HANDOFF})
            held.append(TimedTurn(turn_id=turn.turn_id, returned_at=returned_at, released_at=released_at))
            if turn.turn_id >= player.turns:
                return held


def _awaited(call: Call, player: HandoverAgent) -> GrantedTurn:
    while True:
        if turn := GrantedTurn.of(call("turns.wait", {"room_id": player.room_id, "max_wait_ms": 30_000})):
            return turn


def _polled(call: Call, player: HandoverAgent) -> GrantedTurn:
    while not (turn := GrantedTurn.of(call("turns.wait", {"room_id": player.room_id, "max_wait_ms": 0}))):
        time.sleep(POLL_S)
    return turn
