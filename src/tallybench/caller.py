"""A bare HTTP client on asyncio: what is measured is the server, not a client library."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Self, cast

import msgspec

from tallybench.servers import Served


class CallRefused(RuntimeError):
    """The server did not answer with 200."""


class Heard(msgspec.Struct):
    """Of an event that came over a stream, what a bench looks at."""

    seq: int
    data: dict[str, str]


_heard = msgspec.json.Decoder(Heard).decode


class CallerConnection:
    def __init__(self, served: Served, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._served, self._reader, self._writer = served, reader, writer

    @classmethod
    async def open(cls, served: Served, *, unix: bool = False) -> Self:
        limit = 1 << 20
        if unix:
            return cls(served, *await asyncio.open_unix_connection(served.socket, limit=limit))
        return cls(served, *await asyncio.open_connection("127.0.0.1", served.port, limit=limit))

    def close(self) -> None:
        self._writer.close()

    def request(self, operation: str, given: Mapping[str, object]) -> bytes:
        """The bytes of a call, made once and sent many times."""
        body = msgspec.json.encode(given)
        return (
            self._head(f"POST /v1/{operation}", f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n")
            + body
        )

    async def send(self, request: bytes) -> bytes:
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await self._reader.readexactly(size)
        if not head.startswith(b"HTTP/1.1 200"):
            raise CallRefused(body.decode())
        return body

    async def call(self, operation: str, given: Mapping[str, object]) -> dict[str, object]:
        return cast("dict[str, object]", msgspec.json.decode(await self.send(self.request(operation, given))))

    async def follow(self, room_id: str, kind: str) -> None:
        """Become a stream of that room's new events of one kind; returns when the stream has begun."""
        self._writer.write(self._head(f"GET /v1/events?room_id={room_id}&follow=true&kinds={kind}", ""))
        await self._reader.readuntil(b"retry: 1000\n\n")

    async def next_event(self) -> Heard:
        while True:
            frame = await self._reader.readuntil(b"\n\n")
            if data := frame.partition(b"data: ")[2]:
                return _heard(data)

    def _head(self, first: str, more: str) -> bytes:
        trust = f"Authorization: Bearer {self._served.token}\r\n" if self._served.token else ""
        return f"{first} HTTP/1.1\r\nHost: 127.0.0.1:{self._served.port}\r\n{trust}{more}\r\n".encode()
