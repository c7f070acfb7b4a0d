"""One agent in its own process: its own hub on the shared store, its own diary, its own idea of the time.

`take_turns` is the everyday loop; `behaviours` has the special ones. Workers may sleep; tests may not.
"""

from __future__ import annotations

import faulthandler
import os
import random
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import cast

from tallystick.harnesses import processes
from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.clock import Clock, system_clock
from tallystick.kernel.errors import Unavailable
from tallystick.storage.port import open_store
from tests.chaos.diary import Attempt, Diary, Outcome

LEASE_MS = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    settings: Settings
    agent_id: str
    diary: Path
    stop: Path
    """Work until this file exists."""
    seed: int
    room_id: str = ""
    clock: Clock = system_clock
    grouped: bool = False
    """Commit for several threads at once, as a hub that serves many does."""
    times: int = 1
    """How often to do the thing that a behaviour does a certain number of times."""
    start: Barrier | None = None
    """Where everybody waits before the interesting call."""
    orders: Connection | None = None
    """The other end is the test's."""

    @property
    def last_words(self) -> Path:
        """Where a process that crashes leaves what each of its threads was doing."""
        return self.diary.with_suffix(".crash")

    def crash(self) -> str:
        return self.last_words.read_text() if self.last_words.exists() else ""


@dataclass
class Jumping:
    """A clock that is off by some hours and jumps to the other side of the truth every few readings."""

    offset_ms: int
    every: int = 40
    readings: int = 0

    def __call__(self) -> int:
        self.readings += 1
        if self.readings % self.every == 0:
            self.offset_ms = -self.offset_ms
        return system_clock() + self.offset_ms


class Agent:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.name = plan, plan.agent_id
        self._last_words = plan.last_words.open("w")
        faulthandler.enable(self._last_words)
        store = open_store(plan.settings.database_url, plan.settings.data_dir)
        _when_reachable(lambda: store.migrate(registry.schema()))
        self.hub = Hub(store, clock=plan.clock, grouped=plan.grouped)
        process = processes.facts(os.getpid())
        self.me = Caller(agent_id=plan.agent_id, session=SessionKind.MCP_HARNESS, process=process)
        self.diary = Diary(plan.diary, self.hub, self.me)
        self.random = random.Random(f"{plan.seed} {plan.agent_id} {os.getpid()}")

    def here(self, operation: str, key: str | None = None, **given: object) -> Attempt:
        """Call an operation about this plan's room."""
        return self.diary.call(operation, key, room_id=self.plan.room_id, **given)

    def apart(self, name: str) -> Agent:
        """The same agent with a diary of its own, for another thread or the child of a fork."""
        other = copy(self)
        path = self.plan.diary
        other.diary = Diary(path.with_stem(f"{path.stem}-{name}"), self.hub, self.me)
        other.name = f"{self.name} {name}"
        return other

    def mark(self) -> str:
        """Words that nobody else writes, and this one only once."""
        return f"{self.name} {os.getpid()} {self.diary.asked}"

    def append(self) -> Attempt:
        return self.here("events.append", kind="x.chaos.step", data={"mark": self.mark()})

    def beat(self, turn: Attempt) -> Attempt:
        return self._owner("turns.heartbeat", turn)

    def release(self, turn: Attempt) -> Attempt:
        return self._owner("turns.release", turn, handoff=self._handoff())

    def pass_on(self, turn: Attempt) -> Attempt:
        """Pass the stick to any other member, alive or not."""
        state = self.here("turns.state")
        members = cast("list[dict[str, object]]", state.answer.get("members", []))
        others = [member["agent_id"] for member in members if member["agent_id"] != self.plan.agent_id]
        target = self.random.choice(others or ["nobody"])
        return self._owner("turns.pass", turn, to_agent_id=target, handoff=self._handoff())

    def _owner(self, operation: str, turn: Attempt, **given: object) -> Attempt:
        lease_id, turn_id = turn.answer["lease_id"], turn.answer["turn_id"]
        return self.here(operation, None, lease_id=lease_id, expected_turn_id=turn_id, **given)

    def _handoff(self) -> dict[str, object]:
        return {"status": self.mark(), "next_action": "go on"}


def _when_reachable(work: Callable[[], None]) -> None:
    """An agent may be started while its database is down."""
    limit = time.monotonic() + 60
    while True:
        try:
            return work()
        except Unavailable:
            if time.monotonic() > limit:
                raise
            catch_breath()


def take_turns(plan: Plan) -> None:
    """Wait for the stick, hold it well or badly, hand it on; now and then try what an old lease is still good for."""
    agent = Agent(plan)
    agent.here("rooms.join")
    last: Attempt | None = None
    while not plan.stop.exists():
        turn = agent.here("turns.wait", max_wait_ms=200)
        if turn.answer.get("status") == "takeover_available":
            turn = agent.here("turns.takeover", expected_turn_id=turn.answer["turn_id"], reason="silence")
        if turn.answer.get("status") == "your_turn":
            last = turn
            hold(agent, turn)
        elif last and agent.random.random() < 0.2:
            agent.random.choice((agent.beat, agent.release, agent.pass_on))(last)
        if turn.outcome in {Outcome.UNAVAILABLE, Outcome.UNKNOWN}:
            catch_breath()
    agent.hub.close()


def catch_breath() -> None:
    """What an agent does whose hub cannot be reached: try again, but not at once."""
    time.sleep(0.02)


def stand_still_past_the_lease() -> None:
    time.sleep(1.5 * LEASE_MS / 1000)


def hold(agent: Agent, turn: Attempt) -> None:
    """One turn: mostly in good order, sometimes longer than its lease, sometimes forgotten at once."""
    mood = agent.random.random()
    if mood < 0.05:
        return
    if mood < 0.15:
        stand_still_past_the_lease()
    for _ in range(agent.random.randrange(3)):
        if not agent.beat(turn).ok:
            return
    agent.random.choice((agent.release, agent.release, agent.pass_on))(turn)
