"""What waits to go out on one stream of the bus, as Server-Sent Events; bounded, whoever does not read."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

import msgspec

from tallystick.bus import envelope
from tallystick.kernel.errors import TallyError, TooSlow
from tallystick.surfaces.http import frames

UNREAD_BYTES = 8 * 1024 * 1024
FULL_BYTES = 256 * 1024
QUIET_SECONDS = 15.0


class _Payload(msgspec.Struct):
    seq: int | None = None


class _Seen(msgspec.Struct):
    """As much of a line as its frame shows outside."""

    type: str
    payload: _Payload | None = None


_see = msgspec.json.Decoder(_Seen).decode


class BusOutbox:
    def __init__(self) -> None:
        self.ending: TallyError | None = None
        self._interrupt: Callable[[], object] = lambda: None
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._some, self._room = asyncio.Event(), asyncio.Event()

    def welcome(self, name: str, cursor: int | None) -> None:
        """The first event: the connection's name, and where its records begin."""
        payload = {"connection": name} if cursor is None else {"connection": name, "cursor": cursor}
        self._lines.appendleft(envelope.write("bus.welcome", payload=payload))
        self._some.set()

    def put(self, line: bytes) -> None:
        if self.ending:
            return
        self._lines.append(line)
        self._bytes += len(line)
        self._some.set()
        if self._bytes > UNREAD_BYTES:
            self.cut(TooSlow())

    async def drained(self) -> None:
        while self._bytes > FULL_BYTES and not self.ending:
            self._room.clear()
            await self._room.wait()

    def cut(self, reason: TallyError) -> None:
        if self.ending is None:
            self.ending = reason
            self._some.set()
            self._room.set()
            self._interrupt()

    def on_cut(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Everything that waits, as frames, until the end; an empty chunk when it was quiet for a while."""
        while not self.ending:
            try:
                async with asyncio.timeout(QUIET_SECONDS):
                    await self._some.wait()
            except TimeoutError:
                yield b""
            else:
                if not self.ending:
                    yield self._take()

    def last_word(self) -> bytes:
        return frames.failure(self.ending) if self.ending else b""

    def _take(self) -> bytes:
        self._some.clear()
        lines = b"".join(self._lines).splitlines()
        self._lines.clear()
        self._bytes = 0
        self._room.set()
        return b"".join(_frame(line) for line in lines)


def _frame(line: bytes) -> bytes:
    seen = _see(line)
    head = b"event: %b\n" % seen.type.encode()
    if seen.type == "events.record" and seen.payload and seen.payload.seq is not None:
        head = b"id: %d\n%b" % (seen.payload.seq, head)
    return b"%bdata: %b\n\n" % (head, line)
