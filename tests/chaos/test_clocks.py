"""Machines whose clocks are wrong: safety never depends on the time, and time on the ledger never runs backwards."""

from __future__ import annotations

import pytest

from tests.chaos import checker
from tests.chaos.fleet import Fleet, outcomes
from tests.chaos.worker import Jumping, take_turns

# On a busy machine this takes long; that nothing hangs is seen to by the deadline of every single wait.
pytestmark = pytest.mark.timeout(900)

HOUR = 3_600_000


@pytest.mark.parametrize("events", [80, pytest.param(2000, marks=pytest.mark.soak)])
def test_agents_whose_clocks_are_hours_off_and_jump_keep_one_history(fleet: Fleet, events: int) -> None:
    room_id = fleet.room()
    for number, hours in enumerate((-30, -6, -1, 0, 0, 1, 6, 30)):
        fleet.start(take_turns, f"agent-{number}", room_id, clock=Jumping(offset_ms=hours * HOUR, every=17))

    fleet.reached(room_id, events)

    attempts = fleet.finish()
    assert outcomes(attempts, {"turns.takeover"})["your_turn"] > 0
    assert checker.problems(fleet.hub, attempts) == []
