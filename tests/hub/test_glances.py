"""Reads on the event loop: answered on the spot when that takes no time, in a thread when it would hold others up."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tallystick.bus.records import frame
from tallystick.hub import hub as hubs
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.settings import Settings
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller, SessionKind

T = TypeVar("T")
ADA = Visitor(caller=Caller(agent_id="ada", session=SessionKind.NAMED), trusted=True)
NO_THREAD = "cannot schedule new futures"


def serve(folder: Path, play: Callable[[Serving, str], Awaitable[T]]) -> T:
    """A play in which ada is in a room and has put the blob `hi` there."""

    async def run() -> T:
        hub = Hub.open(Settings(data_dir=folder), grouped=True)
        serving = Serving(hub, frame)
        try:
            room = (await serving.call(ADA, "rooms.create", {"title": "a room"})).to_data()["room_id"]
            await serving.call(ADA, "rooms.join", {"room_id": room})
            content = base64.b64encode(b"hi").decode()
            await serving.call(
                ADA, "blobs.put", {"room_id": room, "mime_type": "text/plain", "name": "hi", "content_base64": content}
            )
            return await play(serving, room)
        finally:
            await serving.close()
            hub.close()

    return asyncio.run(run())


async def asked(serving: Serving, room: str) -> list[object]:
    found = [await serving.call(ADA, "rooms.show", {"room_id": room}), await serving.call(ADA, "hub.health", {})]
    return [each.to_data() for each in found]


def test_what_takes_no_time_is_read_without_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "GLANCE_SECONDS", 3600.0)

    async def play(serving: Serving, room: str) -> list[object]:
        serving.pool.shutdown()
        return await asked(serving, room)

    _, health = serve(tmp_path, play)
    assert health == {"ok": True, "rooms": 1}


def test_what_takes_longer_is_read_in_a_thread_with_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(serving: Serving, room: str) -> tuple[list[object], list[object]]:
        monkeypatch.setattr(hubs, "GLANCE_SECONDS", 3600.0)
        at_once = await asked(serving, room)
        monkeypatch.setattr(hubs, "GLANCE_SECONDS", 0.0)
        in_a_thread = await asked(serving, room)
        serving.pool.shutdown()
        with pytest.raises(RuntimeError, match=NO_THREAD):
            await asked(serving, room)
        return at_once, in_a_thread

    at_once, in_a_thread = serve(tmp_path, play)
    assert at_once == in_a_thread


def test_a_file_is_never_read_on_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "GLANCE_SECONDS", 3600.0)
    sha256 = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"

    async def play(serving: Serving, room: str) -> object:
        ask = {"room_id": room, "sha256": sha256}
        found = await serving.call(ADA, "blobs.get", ask)
        serving.pool.shutdown()
        with pytest.raises(RuntimeError, match=NO_THREAD):
            await serving.call(ADA, "blobs.get", ask)
        return found.to_data()["content_base64"]

    assert serve(tmp_path, play) == base64.b64encode(b"hi").decode()
