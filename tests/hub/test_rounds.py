"""Writes in the event loop: a lone one on the spot, those of one round together, and what takes longer in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import TypeVar

import pytest

from tallystick.bus.records import frame
from tallystick.hub import serving as servings
from tallystick.hub.engine import CallRequest, CallResponse
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.settings import Settings
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import HubClosed
from tallystick.ledger.errors import RoomNotFound
from tallystick.ledger.tx import Tx
from tallystick.storage.port import open_store

T = TypeVar("T")
ADA = Visitor(caller=Caller(agent_id="ada", session=SessionKind.NAMED), trusted=True)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is not what these tests are about."""
    monkeypatch.setattr(servings, "BRIEF_SECONDS", 3600.0)
    monkeypatch.setattr(servings, "LONG_SECONDS", 3600.0)


def serve(folder: Path, play: Callable[[Serving, str], Awaitable[T]]) -> T:
    """A play in a room of ada's."""

    async def run() -> T:
        hub = Hub.open(Settings(data_dir=folder), grouped=True)
        serving = Serving(hub, frame)
        try:
            room = (await serving.call(ADA, "rooms.create", {"title": "a room"})).to_data()["room_id"]
            await serving.call(ADA, "rooms.join", {"room_id": room})
            return await play(serving, room)
        finally:
            await serving.close()
            hub.close()

    return asyncio.run(run())


def say(room: str, text: str) -> CallRequest:
    return CallRequest(visitor=ADA, operation="messages.send", given={"room_id": room, "text": text, "to": ["user"]})


async def said(serving: Serving, room: str) -> list[str]:
    ask = {"room_id": room, "since_seq": 0, "kinds": ["chat.message"]}
    return [event["data"]["text"] for event in (await serving.call(ADA, "events.list", ask)).to_data()["events"]]


async def finished(begun: CallResponse | Awaitable[CallResponse]) -> CallResponse:
    return begun if isinstance(begun, CallResponse) else await begun


def test_a_lone_write_is_committed_where_it_came_in(tmp_path: Path) -> None:
    async def play(serving: Serving, room: str) -> tuple[bool, list[str]]:
        await asyncio.sleep(0)
        begun = serving.begin(say(room, "hello"))
        other = open_store(None, tmp_path)
        with other.read() as rows:
            head = Tx(rows, serving.hub.world, writable=False).head(room).seq
        other.close()
        assert isinstance(begun, CallResponse)
        return begun.answer.to_data()["event"]["seq"] == head, await said(serving, room)

    assert serve(tmp_path, play) == (True, ["hello"])


def test_the_writes_of_one_round_are_one_group_in_the_order_they_came(tmp_path: Path) -> None:
    async def play(serving: Serving, room: str) -> tuple[list[int], list[str]]:
        sizes = list[int]()
        serving.observe(sizes.append, serving.hub.observe)
        for first in (0, 8):
            await asyncio.sleep(0)
            begun = [serving.begin(say(room, str(number))) for number in range(first, first + 8)]
            await asyncio.gather(*map(finished, begun))
        return sizes, await said(serving, room)

    # The first of the first round could not know that it was not alone.
    assert serve(tmp_path, play) == ([1, 7, 8], [str(number) for number in range(16)])


def test_a_write_waits_for_another_process_in_a_thread_while_the_loop_goes_on(tmp_path: Path) -> None:
    async def play(serving: Serving, room: str) -> tuple[bool, list[str], list[str]]:
        await asyncio.sleep(0)
        other = open_store(None, tmp_path)
        with other.write():
            begun = serving.begin(say(room, "hello"))
            meanwhile = await said(serving, room)
        other.close()
        await finished(begun)
        return isinstance(begun, CallResponse), meanwhile, await said(serving, room)

    assert serve(tmp_path, play) == (False, [], ["hello"])


def test_a_write_that_takes_long_is_rolled_back_and_done_once_in_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = list[str]()

    async def play(serving: Serving, room: str) -> list[str]:
        def slowly(tx: Tx) -> None:
            threads.append(threading.current_thread().name)
            tx.mark_adopted(room)
            until = monotonic() + 0.002
            while monotonic() < until:
                pass
            tx.close_ledger(room)

        monkeypatch.setattr(servings, "BRIEF_SECONDS", 0.001)
        await serving.write(slowly, room)
        return threads

    assert serve(tmp_path, play)[-1] == "tally-commit"
    assert len(threads) <= 2


def test_after_a_long_group_the_thread_has_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(serving: Serving, room: str) -> list[bool]:
        await asyncio.sleep(0)
        monkeypatch.setattr(servings, "LONG_SECONDS", -1.0)
        long = serving.begin(say(room, "first"))
        # A moment as long as the group that took none may be over by now: as if it had lasted.
        monkeypatch.setattr(servings, "monotonic", lambda: 0.0)
        await asyncio.sleep(0)
        after = serving.begin(say(room, "second"))
        await finished(after)
        return [isinstance(long, CallResponse), isinstance(after, CallResponse)]

    assert serve(tmp_path, play) == [True, False]


def test_a_refusal_in_a_group_is_told_to_its_caller_alone(tmp_path: Path) -> None:
    async def play(serving: Serving, room: str) -> list[str]:
        begun = [serving.begin(say(where, "hello")) for where in (room, room, "nowhere", room)]
        results = await asyncio.gather(*map(finished, begun), return_exceptions=True)
        return [type(each).__name__ for each in results]

    assert serve(tmp_path, play) == ["CallResponse", "CallResponse", RoomNotFound.__name__, "CallResponse"]


def test_what_a_closed_hub_is_asked_to_write_is_refused(tmp_path: Path) -> None:
    async def play(serving: Serving, room: str) -> None:
        assert serving.hub.committer
        serving.hub.committer.close()
        with pytest.raises(HubClosed):
            await finished(serving.begin(say(room, "hello")))

    serve(tmp_path, play)
