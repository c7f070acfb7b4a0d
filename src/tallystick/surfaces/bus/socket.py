"""`bus.sock`: every connection is one party of the bus, and every line one envelope.

A line is answered before the next one is read, except for waits, which are answered when they end. Who sends without
reading is thereby held up by itself, and cut off when what it was sent piles up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tallystick.bus import commands, envelope
from tallystick.bus.dispatcher import Bus
from tallystick.bus.envelope import LINE_LIMIT
from tallystick.bus.errors import InvalidEnvelope, PeerTooSlow
from tallystick.bus.party import Party, Reply
from tallystick.hub import local_sockets
from tallystick.kernel.errors import TallyError
from tallystick.surfaces.bus import peers

BACKLOG = 2048
"""Connections that may wait to be taken: on a Unix socket one more is turned away at once, not held up."""

log = logging.getLogger("tallystick.bus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    unread_bytes: int = 8 * 1024 * 1024
    """So much may wait for a peer that does not read."""
    full_bytes: int = 64 * 1024
    """Above this nothing more is written on its own account before the peer has read some of it."""
    unread_seconds: float = 30.0
    """How long a peer may take to read what is in its way."""


@asynccontextmanager
async def opened(bus: Bus, path: Path, bounds: Bounds | None = None) -> AsyncGenerator[None]:
    """Take connections for as long as this lasts; those that are open at its end are let go with a word."""
    lines = Lines(bus, bounds or Bounds())
    async with local_sockets.taking(lines.serve, path, log, limit=LINE_LIMIT + 1, backlog=BACKLOG):
        yield


class Line:
    """What goes out to one peer."""

    def __init__(self, writer: asyncio.StreamWriter, bounds: Bounds) -> None:
        self._writer, self._bounds = writer, bounds
        self._transport = writer.transport

    def put(self, line: bytes) -> None:
        if self._transport.is_closing():
            return
        self._writer.write(line)
        if self._transport.get_write_buffer_size() > self._bounds.unread_bytes:
            self.cut(PeerTooSlow())

    async def drained(self) -> None:
        if self._transport.get_write_buffer_size() <= self._bounds.full_bytes:
            return
        try:
            async with asyncio.timeout(self._bounds.unread_seconds):
                await self._writer.drain()
        except TimeoutError:
            self.cut(PeerTooSlow())
            raise ConnectionAbortedError from None

    def cut(self, reason: TallyError) -> None:
        if self._transport.is_closing():
            return
        self._writer.write(envelope.refusal(reason))
        if isinstance(reason, PeerTooSlow):
            # It would not read the reason either; nothing may wait for it any longer.
            log.warning("a peer of the bus did not read and was cut off")
            self._transport.abort()
        else:
            self._writer.close()


class Lines:
    def __init__(self, bus: Bus, bounds: Bounds) -> None:
        self._bus, self._bounds = bus, bounds

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(writer, self._bounds)
        try:
            visitor = peers.visitor(writer.get_extra_info("socket"))
        except TallyError as refused:
            line.cut(refused)
            return
        party = self._bus.connect(visitor, line)
        try:
            while (content := await _next(reader, line)) is not None:
                if content.strip():
                    await _answer(party, line, content)
        finally:
            party.close()


async def _next(reader: asyncio.StreamReader, line: Line) -> bytes | None:
    """The next line; None when there is no more, or what came was too long to go on."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as ended:
        if ended.partial.strip():
            line.cut(InvalidEnvelope("The connection ended in the middle of a line."))
        return None
    except asyncio.LimitOverrunError:
        line.cut(envelope.too_large())
        return None


async def _answer(party: Party, line: Line, content: bytes) -> None:
    request = party.read(content)
    if isinstance(request, Reply):
        reply: Reply | None = request
    elif commands.waits(request.type):
        reply = party.answer_later(request)
    else:
        reply = await party.answer(request)
    if reply:
        line.put(reply.line)
        await line.drained()
