"""Processes that end without a word, in the middle of anything: what was acknowledged stays, and the others go on."""

from __future__ import annotations

import signal
from typing import cast

import pytest

from tests.chaos import checker
from tests.chaos.behaviours import append_with_keys, be_cut_off
from tests.chaos.fleet import Fleet, Worker, outcomes
from tests.chaos.worker import take_turns

# On a busy machine this takes long; that nothing hangs is seen to by the deadline of every single wait.
pytestmark = pytest.mark.timeout(900)

EXPECTED = {
    "your_turn", "not_yet", "takeover_available", "ok", "released", "passed", "cut_off",
    "turn_mismatch", "stale_lease", "takeover_not_available", "takeover_ineligible", "unknown_member",
}  # fmt: skip


def disturb(fleet: Fleet, room_id: str, crew: list[Worker]) -> None:
    """Kill and replace the holder or anybody else; or let somebody stand still for a while."""
    owner = fleet.owner(room_id)
    holding = [each for each in crew if each.plan.agent_id == owner]
    victim = fleet.random.choice(holding if holding and fleet.random.random() < 0.5 else crew)
    if fleet.random.random() < 0.3:
        victim.signal(signal.SIGSTOP)
        fleet.look(room_id, fleet.head(room_id) + 20, 300)
        victim.signal(signal.SIGCONT)
    else:
        crew[crew.index(victim)] = fleet.respawn(victim, take_turns)


@pytest.mark.parametrize("events", [88, pytest.param(3000, marks=pytest.mark.soak)])
def test_sixteen_agents_that_are_killed_paused_and_started_again_keep_one_history(fleet: Fleet, events: int) -> None:
    room_id = fleet.room()
    crew = [fleet.start(take_turns, f"agent-{number:02}", room_id) for number in range(16)]

    for milestone in range(40, events, 8):
        fleet.reached(room_id, milestone)
        disturb(fleet, room_id, crew)

    attempts = fleet.finish()
    seen = outcomes(attempts, {"turns.wait", "turns.heartbeat", "turns.release", "turns.pass", "turns.takeover"})
    assert set(seen) <= EXPECTED
    assert min(seen[each] for each in ("released", "passed", "takeover_available", "turn_mismatch")) > 0
    assert checker.problems(fleet.hub, attempts) == []


@pytest.mark.parametrize("rounds", [20, pytest.param(1000, marks=pytest.mark.soak)])
def test_a_process_that_ends_at_any_microsecond_leaves_a_whole_store(fleet: Fleet, rounds: int) -> None:
    room_id = fleet.room()

    for number in range(rounds):
        worker = fleet.start(be_cut_off, f"agent-{number % 3}", room_id, seed=number)
        assert worker.ended() == -signal.SIGALRM
        worker.killed = True
        assert fleet.hub.call("events.verify", {}, checker.WITNESS).to_data()["ok"]

    attempts = fleet.finish()
    assert outcomes(attempts)["cut_off"] > 0
    assert checker.problems(fleet.hub, attempts) == []


@pytest.mark.parametrize("lives", [6, pytest.param(100, marks=pytest.mark.soak)])
def test_a_write_with_a_key_is_made_once_however_often_its_caller_dies_and_asks_again(fleet: Fleet, lives: int) -> None:
    room_id = fleet.room()
    before = fleet.head(room_id)
    for life in range(lives):
        crew = [fleet.start(append_with_keys, f"svc:writer-{n}", room_id, times=30, seed=life) for n in range(3)]
        for worker in crew:
            worker.ended()
            worker.killed = True
    fleet.stop.touch()
    for number in range(3):
        fleet.start(append_with_keys, f"svc:writer-{number}", room_id, times=30)

    attempts = fleet.finish()

    assert fleet.head(room_id) == before + 3 * 30
    told = {(each.key, cast("dict[str, object]", each.answer["event"])["id"]) for each in attempts if each.ok}
    assert len(told) == 3 * 30
    assert outcomes(attempts).keys() == {"ok", "cut_off"}
    assert checker.problems(fleet.hub, attempts) == []


def test_a_process_that_crashes_leaves_what_it_was_doing(fleet: Fleet) -> None:
    room_id = fleet.room()
    worker = fleet.start(take_turns, "agent", room_id)
    fleet.reached(room_id, fleet.head(room_id) + 3)

    worker.signal(signal.SIGSEGV)

    (failed,) = fleet.end()
    assert failed.startswith(f"agent: -{signal.SIGSEGV.value}\nFatal Python error: Segmentation fault")
    assert "take_turns" in failed
