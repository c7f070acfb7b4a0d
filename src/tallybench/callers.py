"""Many callers of one hub in this process, as it serves those of HTTP and of the bus."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import TypeVar

import uvloop

from tallybench import rooms
from tallystick.bus import records
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.settings import Settings
from tallystick.hub.visitor import Visitor
from tallystick.kernel.operation import Answer

T = TypeVar("T")


class Callers:
    """A member of a room, as often at once as one likes."""

    def __init__(self, loop: asyncio.Runner, hub: Hub, room_id: str) -> None:
        self.hub, self.room_id = hub, room_id
        self._loop = loop
        self._me = Visitor(caller=rooms.enter(hub, room_id, "manager"), trusted=True)
        self.serving = loop.run(self._serve())

    async def _serve(self) -> Serving:
        return Serving(self.hub, records.frame)

    def run(self, work: Coroutine[object, object, T]) -> T:
        return self._loop.run(work)

    async def call(self, operation: str, **given: object) -> Answer:
        return await self.serving.call(self._me, operation, {"room_id": self.room_id, **given})


@contextmanager
def callers(settings: Settings, room_id: str) -> Generator[Callers]:
    hub = Hub.open(settings, grouped=True)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
            found = Callers(loop, hub, room_id)
            yield found
            loop.run(found.serving.close())
    finally:
        hub.close()
