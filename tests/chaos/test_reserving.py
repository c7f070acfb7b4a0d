"""Sixteen processes race for overlapping paths while some are killed: one winner each time, and all are told who."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias, cast

import pytest

from tallystick.hub import maintenance
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tests.chaos import checker
from tests.chaos.diary import Attempt
from tests.chaos.fleet import Fleet, Worker, barrier, outcomes
from tests.chaos.reserving import race

pytestmark = pytest.mark.timeout(900)

CREW = 16
Row = dict[str, object]
Loser: TypeAlias = tuple[str, str]
"""An agent and a round that it lost."""


def round_of(path: object) -> str:
    return str(path).partition("/")[0]


def ledger(fleet: Fleet, room_id: str, kind: str) -> Sequence[Event]:
    with fleet.hub.reading() as tx:
        return reading.since(tx, room_id, 0, kinds=[kind], limit=100_000)


def winners(fleet: Fleet, room_id: str) -> dict[str, set[str]]:
    found = defaultdict[str, set[str]](set)
    for event in ledger(fleet, room_id, "x.tally.reservation.grant"):
        found[round_of(event.data["path"])].add(cast("str", event.data["agent_id"]))
    return found


@pytest.mark.parametrize(("rounds", "kills"), [(12, 6), pytest.param(200, 60, marks=pytest.mark.soak)])
def test_of_sixteen_racing_for_overlapping_paths_one_wins_each_time(fleet: Fleet, rounds: int, kills: int) -> None:
    room_id = fleet.room()
    start = barrier(CREW)
    crew = [fleet.start(race, f"agent-{number:02}", room_id, times=rounds, start=start) for number in range(CREW)]
    for milestone in range(kills):
        fleet.reached(room_id, CREW + 10 + 8 * milestone)
        again(fleet, crew, rounds)

    attempts = [each for each in fleet.finish() if each.operation == "reservations.reserve"]

    assert set(outcomes(attempts)) <= {"granted", "refreshed", "reservation_conflict", "reservation_stale", "cut_off"}
    won = winners(fleet, room_id)
    assert {name: len(agents) for name, agents in won.items()} == {f"round-{number}": 1 for number in range(rounds)}
    for attempt in attempts:
        check(attempt, won)
    check_incursions(fleet, room_id, attempts)
    assert checker.problems(fleet.hub, attempts) == []
    assert maintenance.check(fleet.hub) == []


def again(fleet: Fleet, crew: list[Worker], rounds: int) -> None:
    """Kill somebody in the middle of whatever it does; its agent comes back in a new process."""
    victim = fleet.random.choice(crew)
    if victim.process.is_alive():
        victim.kill()
    crew[crew.index(victim)] = fleet.start(race, victim.plan.agent_id, victim.plan.room_id, times=rounds)


def check(attempt: Attempt, won: dict[str, set[str]]) -> None:
    """Who was granted a path is its round's winner; who was refused was told the winner's name."""
    (winner,) = won[round_of(attempt.given["path"])]
    if attempt.ok:
        assert attempt.by == winner, str(attempt)
    elif attempt.code is not None:
        details = cast("Row", attempt.answer["details"])
        assert (details["held_by"], details["owner"], details["name"]) == (winner, winner, winner), str(attempt)
        assert attempt.by != winner


def check_incursions(fleet: Fleet, room_id: str, attempts: Sequence[Attempt]) -> None:
    """Every loser of every round is on record once, however often it tried; again if its winner died or came back."""
    found = defaultdict[Loser, list[str]](list)
    for event in ledger(fleet, room_id, "x.tally.protocol.incursion"):
        payload = cast("Row", event.data["payload"])
        loser = (cast("str", event.data["from_agent"]), round_of(event.data["scope"]))
        found[loser].append(cast("str", payload["owner_liveness"]))
    tried = Counter((each.by, round_of(each.given["path"])) for each in attempts)
    for loser, seen in found.items():
        assert all(before != after for before, after in pairwise(seen)), (loser, seen)
        assert len(seen) <= tried[loser], (loser, seen)
    for each in attempts:
        if each.code is not None:
            told = cast("Row", each.answer["details"])["liveness"]
            assert told in found[each.by, round_of(each.given["path"])], str(each)
