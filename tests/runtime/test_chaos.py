"""Agents and hubs that are killed at random: every action ends, in order, and none is run twice."""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path
from typing import cast

import pytest

from tests.http.running import Json
from tests.runtime.world import Process, World, message

DIARY = Path(__file__).parent / "programs" / "diary.py"


class Havoc:
    """Sends messages to an agent while the agent or the hub dies, as the dice say."""

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._dice = world, random.Random(seed)
        self._diary = world.folder / "diary"
        self._boss = world.member("boss")
        self._worker = self._attach()
        self.asked: list[Json] = []

    def _attach(self) -> Process:
        return self._world.attach("worker", sys.executable, "-S", str(DIARY), str(self._diary))

    def rage(self, rounds: int) -> None:
        for _ in range(rounds):
            texts = [message("worker", "note it") for _ in range(self._dice.randint(1, 4))]
            self.asked.append(self._world.relay(self._boss, *texts))
            if self._dice.random() < 0.5:
                # Somewhere in the middle: after the first of them, whatever comes then.
                self._worker.until("answered boss")
            match self._dice.choice(["agent", "hub", "both", "nobody"]):
                case "agent":
                    self._worker.end(signal.SIGKILL)
                    self._worker = self._attach()
                case "hub":
                    self._world.hub.kill()
                    self._world.hub.start()
                case "both":
                    self._world.hub.kill()
                    self._worker.end(signal.SIGKILL)
                    self._world.hub.start()
                    self._worker = self._attach()
                case _:
                    pass

    def judge(self) -> None:
        outcomes = [each for asked in self.asked for each in self._world.outcomes(self._boss, asked)]
        diary = self._diary.read_text().split("\n")[:-1]
        begun = [line.partition(" ")[2] for line in diary if line.startswith("begin")]
        ended = {line.partition(" ")[2] for line in diary if line.startswith("end")}
        order = [cast("str", each["action_id"]) for each in outcomes]

        assert begun, "something was done between the kills"
        assert begun == [each for each in order if each in begun], "in order, and none twice"
        for each in outcomes:
            if each["status"] == "completed":
                assert (each["reply"], each["action_id"] in ended) == ("noted", True)
            else:
                assert (each["status"], "ended while it worked" in str(each["detail"])) == ("error", True)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_whoever_is_killed_every_action_ends_in_order_and_none_is_run_twice(lone_world: World, seed: int) -> None:
    havoc = Havoc(lone_world, seed)
    havoc.rage(4)
    havoc.judge()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 110))
def test_the_same_for_a_long_time(lone_world: World, seed: int) -> None:
    havoc = Havoc(lone_world, seed)
    havoc.rage(60)
    havoc.judge()
