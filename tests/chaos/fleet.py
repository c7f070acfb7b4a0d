"""Starts workers as processes, kills, pauses and resumes them, and collects what they wrote down.

Waiting is always for a condition, with a deadline: that a ledger reaches a seq, that a process ends.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import cast

from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tests.chaos import checker, diary
from tests.chaos.diary import Attempt
from tests.chaos.worker import LEASE_MS, Plan

CONTEXT = multiprocessing.get_context("forkserver")
# With the product loaded beforehand a worker starts in milliseconds. pytest, because a child runs its parent's main
# script again, and that imports it.
CONTEXT.set_forkserver_preload(["pytest", "psycopg", "tallystick.storage.sqlite", "tests.chaos.behaviours"])

DEADLINE = 60.0
"""Seconds after which something that should happen at once counts as never happening."""

QUICK = {
    "owner_lease_ttl_ms": LEASE_MS,
    "heartbeat_interval_ms": LEASE_MS // 3,
    "claim_ttl_ms": LEASE_MS,
    "wait_for_turn_poll_ms": 100,
}


@dataclass
class Worker:
    plan: Plan
    process: ForkServerProcess
    killed: bool = False

    def signal(self, number: signal.Signals) -> None:
        os.kill(cast("int", self.process.pid), number)

    def kill(self) -> None:
        self.killed = True
        self.signal(signal.SIGKILL)
        self.ended()

    def ended(self) -> int | None:
        """The exit code, once the process is gone."""
        self.process.join(DEADLINE)
        return self.process.exitcode


@dataclass
class Fleet:
    settings: Settings
    folder: Path
    seed: int = 7
    crew: list[Worker] = field(default_factory=list[Worker])

    def __post_init__(self) -> None:
        self.hub = Hub.open(self.settings)
        self.random = random.Random(self.seed)
        self.stop = self.folder / "stop"
        self._numbers = count()

    def room(self, title: str = "chaos", **policy: int) -> str:
        """A room with leases short enough to run out, and nobody in it."""
        room = self.hub.call("rooms.create", {"title": title}, checker.WITNESS).to_data()
        here = {"room_id": room["room_id"]}
        for operation, given in (("rooms.join", {}), ("rooms.set_policy", QUICK | policy), ("rooms.leave", {})):
            self.hub.call(operation, here | given, checker.WITNESS)
        return cast("str", room["room_id"])

    def start(self, behaviour: Callable[[Plan], None], agent_id: str, room_id: str = "", **more: object) -> Worker:
        path = self.folder / f"{agent_id}-{next(self._numbers)}.jsonl"
        given: dict[str, object] = {
            "settings": self.settings,
            "agent_id": agent_id,
            "diary": path,
            "stop": self.stop,
            "seed": self.seed,
            "room_id": room_id,
        }
        plan = Plan(**(given | more))  # pyright: ignore[reportArgumentType] - the fields of a plan, by name
        process = CONTEXT.Process(target=behaviour, args=(plan,), name=agent_id)
        process.start()
        worker = Worker(plan, process)
        self.crew.append(worker)
        return worker

    def respawn(self, worker: Worker, behaviour: Callable[[Plan], None]) -> Worker:
        """Kill a worker in the middle of whatever it does and start its agent again in a new process."""
        worker.kill()
        return self.start(behaviour, worker.plan.agent_id, worker.plan.room_id)

    def head(self, room_id: str) -> int:
        answer = self.hub.call("rooms.show", {"room_id": room_id}, checker.WITNESS).to_data()
        return cast("int", answer["head"])

    def owner(self, room_id: str) -> object:
        return self.hub.call("turns.state", {"room_id": room_id}, checker.WITNESS).to_data()["owner"]

    def reached(self, room_id: str, seq: int) -> None:
        """Wait until the room's ledger reaches this seq; it may take long, but never stand still."""
        at = self.head(room_id)
        while at < seq:
            before, at = at, self.look(room_id, at, int(DEADLINE * 1000))
            assert at > before, f"the ledger stands still at {at}; {seq} was expected"

    def look(self, room_id: str, since_seq: int, max_wait_ms: int) -> int:
        """The room's head as soon as there is something after `since_seq`, and in any case after that time."""
        given = {"room_id": room_id, "since_seq": since_seq, "limit": 1, "max_wait_ms": max_wait_ms}
        return cast("int", self.hub.call("events.follow", given, checker.WITNESS).to_data()["head"])

    def finish(self) -> list[Attempt]:
        """Tell everybody to stop, see that nobody failed, and return what all of them wrote down."""
        assert self.end() == []
        return self.attempts()

    def end(self) -> list[str]:
        """Tell everybody to stop; who failed, with its exit code and what it was doing when it crashed."""
        self.stop.touch()
        failed = [(each.plan, code) for each in self.crew if (code := each.ended()) and not each.killed]
        return [f"{plan.agent_id}: {code}\n{plan.crash()}" for plan, code in failed]

    def attempts(self) -> list[Attempt]:
        """What all of them wrote down."""
        return [attempt for path in sorted(self.folder.glob("*.jsonl")) for attempt in diary.read(path)]

    def close(self) -> None:
        """Leave no process behind, however the test went."""
        for worker in self.crew:
            if worker.process.is_alive():
                worker.kill()
        self.hub.close()


def outcomes(attempts: Iterable[Attempt], operations: Collection[str] = ()) -> Counter[str]:
    """How often each answer was given: its status or the code of its refusal."""
    return Counter(
        str(attempt.code or attempt.answer.get("status", attempt.outcome))
        for attempt in attempts
        if not operations or attempt.operation in operations
    )


def barrier(parties: int) -> Barrier:
    return CONTEXT.Barrier(parties)
