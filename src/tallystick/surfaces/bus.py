"""`bus.sock`: every connection is a `BusConnection`, and every line one envelope.

A line is answered before the next one is read, except for waits, which are answered when they end. Who sends without
reading is thereby held up by itself, and cut off when what it was sent piles up. An answer that takes no time is given
where the line came in, without a task.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tallystick.bus import commands, envelope
from tallystick.bus.connection import BusConnection, BusReply
from tallystick.bus.delivery import Bus
from tallystick.bus.envelope import LINE_LIMIT, InvalidEnvelope
from tallystick.harnesses import processes
from tallystick.hub import local_sockets
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import TallyError, TooSlow


def peer_of(sock: socket.socket) -> Visitor:
    """The process at the other end, trusted like whoever can open the store; refused when it is somebody else's."""
    pid, uid = local_sockets.peer(sock)
    return admitted(pid or 0, uid)


def admitted(pid: int, uid: int) -> Visitor:
    local_sockets.check_user(uid)
    # It has no name until its first envelope gives it one.
    process = processes.facts(pid) if pid else None
    return Visitor(caller=Caller(agent_id="", session=SessionKind.NAMED, process=process), trusted=True)


LAST_SECONDS = 1.0
"""How long a peer that was cut off has to read why."""

log = logging.getLogger("tallystick.bus")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLimits:
    unread_bytes: int = 8 * 1024 * 1024
    """So much may wait for a peer that does not read."""
    full_bytes: int = 64 * 1024
    """Above this nothing more is written on its own account before the peer has read some of it."""
    unread_seconds: float = 30.0
    """How long a peer may take to read what is in its way."""


class PeerWriter:
    __slots__ = ("_cut", "_limits", "_room", "_transport")

    def __init__(self, transport: asyncio.Transport, limits: PeerLimits) -> None:
        self._transport, self._limits = transport, limits
        self._cut = False
        self._room: asyncio.Event | None = None
        """There only while the line is full: what to wait for then."""
        transport.set_write_buffer_limits(high=limits.full_bytes)

    @property
    def full(self) -> bool:
        return self._room is not None

    @property
    def closing(self) -> bool:
        """Whether nothing more is said, and what still comes is not listened to."""
        return self._cut or self._transport.is_closing()

    def put(self, line: bytes) -> None:
        if self.closing:
            return
        self._transport.write(line)
        if self._room and self._transport.get_write_buffer_size() > self._limits.unread_bytes:
            self.cut(TooSlow())

    async def drained(self) -> None:
        if self._room is None:
            return
        try:
            async with asyncio.timeout(self._limits.unread_seconds):
                await self._room.wait()
        except TimeoutError:
            self.cut(TooSlow())
        if self.closing:
            raise ConnectionAbortedError

    def filled(self) -> None:
        self._room = asyncio.Event()

    def emptied(self) -> None:
        if self._room:
            self._room.set()
        self._room = None

    def cut(self, reason: TallyError) -> None:
        """Close, with a last word if it can still be said."""
        if self.closing:
            return
        self._cut = True
        self._transport.write(envelope.refusal(reason))
        if isinstance(reason, TooSlow):
            # It would not read the reason either; nothing may wait for it any longer.
            log.warning("a peer of the bus did not read and was cut off")
            self._transport.abort()
            return
        # Closed at once, with something of the peer's unread, it would end in an error instead of after the reason.
        self._transport.write_eof()
        asyncio.get_running_loop().call_later(LAST_SECONDS, self._transport.abort)

    def close(self) -> None:
        self._transport.close()


__all__ = ["PeerLimits", "opened"]

BACKLOG = 2048
"""Connections that may wait to be taken: on a Unix socket one more is turned away at once, not held up."""
LINES_IN_A_ROW = 16
"""Of one connection, before the others have their turn."""


@asynccontextmanager
async def opened(bus: Bus, path: Path, limits: PeerLimits | None = None) -> AsyncGenerator[None]:
    """Take connections for as long as this lasts; those that are open at its end are let go with a word."""
    server = SocketServer(bus, limits or PeerLimits())
    try:
        async with local_sockets.listening(server.connection, path, backlog=BACKLOG):
            yield
    finally:
        await server.close()


class SocketServer:
    def __init__(self, bus: Bus, limits: PeerLimits) -> None:
        self.bus, self.limits = bus, limits
        self.open: set[SocketConnection] = set()

    def connection(self) -> SocketConnection:
        return SocketConnection(self)

    async def close(self) -> None:
        await asyncio.gather(*(each.leave() for each in tuple(self.open)))


class SocketConnection(asyncio.Protocol):
    """One peer: its lines are answered in order, and while one takes its time the rest is left where it is."""

    __slots__ = (
        "_bus_connection",
        "_ended",
        "_loop",
        "_paused",
        "_received",
        "_searched",
        "_server",
        "_transport",
        "_turn",
        "_writer",
    )
    _transport: asyncio.Transport
    _writer: PeerWriter
    _bus_connection: BusConnection

    def __init__(self, server: SocketServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._searched = 0
        """So many bytes of it are known to hold no end of a line."""
        self._turn: asyncio.Task[None] | asyncio.Handle | None = None
        """What goes on with the lines later, if anything does."""
        self._paused = self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._writer = PeerWriter(self._transport, self._server.limits)
        try:
            visitor = peer_of(transport.get_extra_info("socket"))
        except TallyError as refused:
            self._writer.cut(refused)
            return
        self._bus_connection = self._server.bus.connect(visitor, self._writer)
        self._server.open.add(self)

    def data_received(self, data: bytes) -> None:
        if self._writer.closing:
            return
        self._received += data
        if self._turn is None:
            self._proceed()
        elif not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        if self._writer.closing:
            return False
        self._ended = True
        if self._turn is None:
            self._proceed()
        # What it sent before is still answered: `_next` closes when there is no more.
        return True

    def pause_writing(self) -> None:
        self._writer.filled()

    def resume_writing(self) -> None:
        self._writer.emptied()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - gone is gone
        self._writer.emptied()
        if self in self._server.open:
            self._server.open.discard(self)
            self._bus_connection.close()

    async def leave(self) -> None:
        """The hub is about to end."""
        turn = self._turn
        self._writer.close()
        if turn:
            turn.cancel()
        if isinstance(turn, asyncio.Task):
            await asyncio.gather(turn, return_exceptions=True)
        self._bus_connection.close()

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
        if self._paused and self._turn is None and not self._writer.closing:
            self._paused = False
            self._transport.resume_reading()

    def _next(self) -> bytearray | None:
        """The next line; None when it is not there yet, or what came was too long to go on, or there is no more."""
        received = self._received
        if self._writer.closing:
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
            self._bus_connection.close()
            self._writer.close()
        return None

    def _turn_away(self, reason: TallyError) -> None:
        self._bus_connection.close()
        self._writer.cut(reason)
        self._received.clear()

    def _answer(self, line: bytearray) -> None:
        request = self._bus_connection.read(line)
        if isinstance(request, BusReply):
            reply: BusReply | Awaitable[BusReply] | None = request
        elif commands.waits(request.type):
            reply = self._bus_connection.answer_later(request)
        else:
            reply = self._bus_connection.answer(request)
        later = None
        if isinstance(reply, BusReply):
            self._writer.put(reply.line)
        else:
            later = reply
        if later or self._writer.full:
            self._turn = self._loop.create_task(self._finish(later))

    async def _finish(self, reply: Awaitable[BusReply] | None) -> None:
        """Give an answer when it is there and the peer has read enough of the others, then go on."""
        if reply:
            self._writer.put((await reply).line)
        with suppress(ConnectionError):
            await self._writer.drained()
            self._resume()
