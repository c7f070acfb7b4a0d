"""A delivery queue between two looks: whoever comes back at that moment gets every result, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from tallystick.bus.delivery import AttachedAgent, DeliveryQueue
from tallystick.bus.records import DueActions
from tallystick.capabilities.actions.events import ActionResultReported
from tallystick.hub.feed import Wake
from tallystick.kernel.envelope import GENESIS, Event, to_json


def result(seq: int, status: str) -> Event:
    data = {"group_id": "g", "action_id": "a", "action_index": 0, "status": status, "dst": "boss"}
    return Event.sealed(
        room_id="room",
        seq=seq,
        id=f"e{seq}",
        ts=0,
        kind=ActionResultReported.kind,
        scope_key="",
        by="worker",
        body=to_json(data),
        prev_hash=GENESIS,
    )


class Ledger:
    """Answers each look in turn, when it is let to."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.gate = asyncio.Event()
        self.gate.set()
        self.feeds = SimpleNamespace(listen=self._listen)

    @contextmanager
    def _listen(self, _room_id: str, wake: Wake) -> Generator[Wake]:
        self.wake = wake
        yield wake

    async def look(self, _at: object) -> object:
        await self.gate.wait()
        return self.answers.pop(0)


class Connection:
    def __init__(self) -> None:
        self.said: list[str] = []

    def push(self, line: bytes) -> None:
        self.said.append(msgspec.json.decode(line)["payload"]["status"])


def attachment(connection: Connection) -> AttachedAgent:
    return AttachedAgent(connection=cast("Any", connection), agent="boss", results_after=5)


def looked(cursor: int, *results: Event) -> DueActions:
    return DueActions(results=results, due={}, cursor=cursor, more=False)


async def rest() -> None:
    """Let everybody go on until nobody can."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_who_comes_back_while_a_result_is_on_its_way_misses_none_of_the_earlier_ones() -> None:
    accepted, completed = result(6, "accepted"), result(7, "completed")

    async def play() -> tuple[list[str], list[str]]:
        ledger = Ledger(5, looked(6, accepted), looked(6), looked(7, completed), looked(7), [accepted, completed])
        queue = DeliveryQueue(cast("Any", ledger), "room", lambda _queue: None)
        gone, back = Connection(), Connection()
        queue.attach(attachment(gone))
        await rest()
        ledger.gate.clear()
        ledger.wake.ring()
        await rest()
        queue.attach(attachment(back))
        ledger.gate.set()
        await rest()
        queue.stop()
        return gone.said, back.said

    assert asyncio.run(play()) == (["accepted"], ["accepted", "completed"])
