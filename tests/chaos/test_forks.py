"""A hub that was used before its process forked goes on working on both sides."""

from __future__ import annotations

import pytest

from tests.chaos import checker
from tests.chaos.behaviours import fork_and_append
from tests.chaos.fleet import Fleet, outcomes


@pytest.mark.parametrize("grouped", [False, True])
def test_a_hub_may_be_used_on_both_sides_of_a_fork(fleet: Fleet, grouped: bool) -> None:
    room_id = fleet.room()
    for number in range(3):
        fleet.start(fork_and_append, f"agent-{number}", room_id, times=20, grouped=grouped)

    attempts = fleet.finish()

    assert outcomes(attempts) == {"ok": 3 * (1 + 3 * 20)}
    assert checker.problems(fleet.hub, attempts) == []
