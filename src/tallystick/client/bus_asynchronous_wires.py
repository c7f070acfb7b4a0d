"""What carries the bus for a client in an event loop: the hub's Unix socket, or requests to its address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

import httpx2

from tallystick.client import bus_http
from tallystick.client.link import TIMEOUT
from tallystick.client.place import HubNotRunning, Place

REPLY_LIMIT = 64 * 1024 * 1024
"""A page of a thousand events is longer than any envelope that we may send."""


class AsyncWire(Protocol):
    """One connection of the bus. Every failure of it is an OSError."""

    async def send(self, line: bytes) -> None: ...

    def lines(self) -> AsyncIterator[bytes]:
        """What comes, replies included, until there is no more."""
        ...

    async def close(self) -> None: ...


def wires(place: Place) -> Callable[[], Awaitable[AsyncWire]]:
    """How to connect to the hub of a place; refuses when none is there."""

    async def connect() -> AsyncWire:
        if place.url is None and place.over == "socket":
            return await AsyncSocketWire.open(place.bus_socket())
        address = place.find()
        return await AsyncHttpWire.open(address.url, address.token or "")

    return connect


class AsyncSocketWire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, path: str) -> AsyncSocketWire:
        try:
            return cls(*await asyncio.open_unix_connection(path, limit=REPLY_LIMIT))
        except OSError as absent:
            raise HubNotRunning(f"No hub is running at {path}.") from absent

    async def send(self, line: bytes) -> None:
        self._writer.write(line)
        await self._writer.drain()

    async def lines(self) -> AsyncIterator[bytes]:
        while line := await self._reader.readline():
            yield line

    async def close(self) -> None:
        self._writer.close()


class AsyncHttpWire:
    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self._came: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._welcome: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._tasks = {asyncio.ensure_future(self._listen())}
        self._headers: dict[str, str] = {}

    @classmethod
    async def open(cls, url: str, token: str) -> AsyncHttpWire:
        """Opens the stream; raises the hub's refusal, or that there is none."""
        headers = {"authorization": f"Bearer {token}"}
        wire = cls(httpx2.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT))
        try:
            wire._headers = bus_http.headers(bus_http.connection_of(await wire._welcome))
        except BaseException:
            await wire.close()
            raise
        return wire

    async def send(self, line: bytes) -> None:
        task = asyncio.ensure_future(self._post(line))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def lines(self) -> AsyncIterator[bytes]:
        while (line := await self._came.get()) is not None:
            yield line

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._http.aclose()

    async def _post(self, line: bytes) -> None:
        try:
            reply = await self._http.post(bus_http.POST, content=line, headers=self._headers)
        except httpx2.HTTPError:
            # Lost on the way: whoever waits sends it again on the next connection.
            self._came.put_nowait(None)
        else:
            self._came.put_nowait(bus_http.replied(line, reply.content))

    async def _listen(self) -> None:
        try:
            async with self._http.stream("GET", bus_http.STREAM) as stream:
                if stream.status_code != 200:
                    self._welcome.set_exception(bus_http.turned_away(stream.status_code, await stream.aread()))
                    return
                async for line in stream.aiter_lines():
                    if envelope := bus_http.came(line):
                        self._heard(envelope)
        except httpx2.HTTPError as wrong:
            if not self._welcome.done():
                self._welcome.set_exception(bus_http.lost(wrong))
        finally:
            if not self._welcome.done():
                self._welcome.set_exception(HubNotRunning("The hub let us go at once."))
            self._came.put_nowait(None)

    def _heard(self, envelope: bytes) -> None:
        if self._welcome.done():
            self._came.put_nowait(envelope)
        else:
            self._welcome.set_result(envelope)
