"""What goes out to one peer of the socket. It is bounded: a peer that does not read is cut off."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from tallystick.bus import envelope
from tallystick.kernel.errors import TallyError, TooSlow

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
