"""`bus.sock`: every connection is one party of the bus, and every line one envelope.

A line is answered before the next one is read, except for waits, which are answered when they end. Who sends without
reading is thereby held up by itself, and cut off when what it was sent piles up. An answer that takes no time is given
where the line came in, without a task.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import cast

from tallystick.bus import commands, envelope
from tallystick.bus.dispatcher import Bus
from tallystick.bus.envelope import LINE_LIMIT
from tallystick.bus.errors import InvalidEnvelope
from tallystick.bus.party import Party, Reply
from tallystick.hub import local_sockets
from tallystick.kernel.errors import TallyError
from tallystick.surfaces.bus import peers
from tallystick.surfaces.bus.line import Bounds, Line

__all__ = ["Bounds", "opened"]

BACKLOG = 2048
"""Connections that may wait to be taken: on a Unix socket one more is turned away at once, not held up."""
LINES_IN_A_ROW = 16
"""Of one connection, before the others have their turn."""


@asynccontextmanager
async def opened(bus: Bus, path: Path, bounds: Bounds | None = None) -> AsyncGenerator[None]:
    """Take connections for as long as this lasts; those that are open at its end are let go with a word."""
    lines = Lines(bus, bounds or Bounds())
    try:
        async with local_sockets.listening(lines.connection, path, backlog=BACKLOG):
            yield
    finally:
        await lines.close()


class Lines:
    def __init__(self, bus: Bus, bounds: Bounds) -> None:
        self.bus, self.bounds = bus, bounds
        self.open: set[Connection] = set()

    def connection(self) -> Connection:
        return Connection(self)

    async def close(self) -> None:
        await asyncio.gather(*(each.leave() for each in tuple(self.open)))


class Connection(asyncio.Protocol):
    """One peer: its lines are answered in order, and while one takes its time the rest is left where it is."""

    __slots__ = (
        "_ended",
        "_line",
        "_lines",
        "_loop",
        "_party",
        "_paused",
        "_received",
        "_searched",
        "_transport",
        "_turn",
    )
    _transport: asyncio.Transport
    _line: Line
    _party: Party

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._searched = 0
        """So many bytes of it are known to hold no end of a line."""
        self._turn: asyncio.Task[None] | asyncio.Handle | None = None
        """What goes on with the lines later, if anything does."""
        self._paused = self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._line = Line(self._transport, self._lines.bounds)
        try:
            visitor = peers.visitor(transport.get_extra_info("socket"))
        except TallyError as refused:
            self._line.cut(refused)
            return
        self._party = self._lines.bus.connect(visitor, self._line)
        self._lines.open.add(self)

    def data_received(self, data: bytes) -> None:
        if self._line.closing:
            return
        self._received += data
        if self._turn is None:
            self._proceed()
        elif not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        if self._line.closing:
            return False
        self._ended = True
        if self._turn is None:
            self._proceed()
        # What it sent before is still answered: `_next` closes when there is no more.
        return True

    def pause_writing(self) -> None:
        self._line.filled()

    def resume_writing(self) -> None:
        self._line.emptied()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - gone is gone
        self._line.emptied()
        if self in self._lines.open:
            self._lines.open.discard(self)
            self._party.close()

    async def leave(self) -> None:
        """The hub is about to end."""
        turn = self._turn
        self._line.close()
        if turn:
            turn.cancel()
        if isinstance(turn, asyncio.Task):
            await asyncio.gather(turn, return_exceptions=True)
        self._party.close()

    def _proceed(self) -> None:
        """Answer what has come, line by line, until one takes its time or it is the others' turn."""
        for _ in range(LINES_IN_A_ROW):
            line = self._next()
            if line is None:
                return
            if not line.isspace():
                self._answer(line)
            if self._turn:
                return
        self._turn = self._loop.call_soon(self._resume)

    def _resume(self) -> None:
        self._turn = None
        self._proceed()
        if self._paused and self._turn is None and not self._line.closing:
            self._paused = False
            self._transport.resume_reading()

    def _next(self) -> bytearray | None:
        """The next line; None when it is not there yet, or what came was too long to go on, or there is no more."""
        received = self._received
        if self._line.closing:
            return None
        end = received.find(b"\n", self._searched, LINE_LIMIT) + 1
        if end:
            line = received[:end]
            del received[:end]
            self._searched = 0
            return line
        self._searched = len(received)
        if self._searched >= LINE_LIMIT:
            self._turn_away(envelope.too_large())
        elif self._ended and received.strip():
            self._turn_away(InvalidEnvelope("The connection ended in the middle of a line."))
        elif self._ended:
            self._party.close()
            self._line.close()
        return None

    def _turn_away(self, reason: TallyError) -> None:
        self._party.close()
        self._line.cut(reason)
        self._received.clear()

    def _answer(self, line: bytearray) -> None:
        request = self._party.read(line)
        if isinstance(request, Reply):
            reply: Reply | Awaitable[Reply] | None = request
        elif commands.waits(request.type):
            reply = self._party.answer_later(request)
        else:
            reply = self._party.answer(request)
        later = None
        if isinstance(reply, Reply):
            self._line.put(reply.line)
        else:
            later = reply
        if later or self._line.full:
            self._turn = self._loop.create_task(self._finish(later))

    async def _finish(self, reply: Awaitable[Reply] | None) -> None:
        """Give an answer when it is there and the peer has read enough of the others, then go on."""
        if reply:
            self._line.put((await reply).line)
        with suppress(ConnectionError):
            await self._line.drained()
            self._resume()
