"""Following rooms for many at once: a room's new events are read once and handed to all who follow it.

A follower first reads the past at its own pace, page by page, and goes live only where nothing can fall between. Once
live it has a bounded queue: a reader too slow to empty it is cut off and can resume by seq. Everything here belongs to
the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Literal, TypeAlias

from tallystick.hub.hub import Hub
from tallystick.hub.watching import Batch, Encode, RoomListener, RoomWatch, read
from tallystick.ledger import reading
from tallystick.ledger.contract import Cursor
from tallystick.storage.port import EVERY_ROOM

__all__ = ["EVERY_ROOM", "Cursor", "Feeds", "Follower", "Wake"]

QUEUE_EVENTS = 10_000
QUEUE_BYTES = 8 * 1024 * 1024
QUIET_SECONDS = 15.0
"""A stream without events shows at least this often that it is alive."""

Ending: TypeAlias = Literal["too_slow", "bye"]


class Wake:
    """A listener that only wants to know when to look again."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    def clear(self) -> None:
        self._rung.clear()

    def take(self, batch: Batch) -> None:
        pass

    async def wait(self, seconds: float) -> bool:
        """Until it rings, which may have been before this call; False when the time is up."""
        if self._rung.is_set():
            self._rung.clear()
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True


class Follower:
    def __init__(self, feeds: Feeds, ask: Cursor, cursor: int) -> None:
        self.ask, self.cursor = ask, cursor
        self.ending: Ending | None = None
        self.on_cut: Callable[[], object] = lambda: None
        """Called when the reader was too slow, so that whoever is stuck writing to it can let go."""
        self._feeds = feeds
        self._kinds = frozenset(ask.kinds)
        self._bell = Wake()
        self._batches: deque[Batch] = deque()
        self._events = self._bytes = 0

    async def frames(self) -> AsyncGenerator[bytes]:
        """Encoded events in order, without gap or duplicate; an empty chunk when it was quiet for a while."""
        with self._feeds.following(self) as room:
            await room.armed.wait()
            live = False
            while not self.ending:
                page = await self._feeds.page(self.ask, self.cursor)
                self.cursor = page.last
                if page.data:
                    yield page.data
                if page.full:
                    continue
                if live:
                    break
                # One more page after going live: what was committed since this one may have been read for nobody.
                live = room.go_live(self, self.cursor)
            while not self.ending:
                rung = await self._bell.wait(QUIET_SECONDS)
                if (chunk := self._next()) or not rung:
                    yield chunk

    def ring(self) -> None:
        pass

    def take(self, batch: Batch) -> None:
        if self.ending:
            return
        self._batches.append(batch)
        self._events += len(batch.items)
        self._bytes += len(batch.data)
        if self._events > QUEUE_EVENTS or self._bytes > QUEUE_BYTES:
            self._feeds.cut += 1
            self.end("too_slow")
            self.on_cut()
        else:
            self._bell.ring()

    def end(self, why: Ending) -> None:
        self.ending = why
        self._bell.ring()

    def _next(self) -> bytes:
        chunks: list[bytes] = []
        for batch in self._batches:
            if not self._kinds and batch.items[0].seq > self.cursor:
                chunks.append(batch.data)
            else:
                chunks += [item.frame for item in batch.items if item.seq > self.cursor and self._wants(item.kind)]
            self.cursor = max(self.cursor, batch.last)
        self._batches.clear()
        self._events = self._bytes = 0
        return b"".join(chunks)

    def _wants(self, kind: str) -> bool:
        return not self._kinds or kind in self._kinds


class Feeds:
    """Every room that somebody listens to."""

    def __init__(self, hub: Hub, encode: Encode, pool: Executor) -> None:
        self._hub, self._encode, self._pool = hub, encode, pool
        self._loop = asyncio.get_running_loop()
        self._rooms: dict[str, RoomWatch] = {}
        self._followers: set[Follower] = set()
        self._closing = False
        self.cut = 0
        """How many followers were too slow so far."""

    @property
    def followers(self) -> int:
        return len(self._followers)

    @property
    def rooms(self) -> int:
        return len(self._rooms)

    async def follow(self, ask: Cursor, *, from_now: bool = False) -> Follower:
        """A follower at the place its cursor names; an unknown room or cursor is refused here.

        Without a cursor it begins with the first event, or with the next one.
        """
        start = await self._loop.run_in_executor(self._pool, partial(self._start, ask, from_now=from_now))
        return Follower(self, ask, start)

    async def page(self, ask: Cursor, after: int) -> Batch:
        return await self._loop.run_in_executor(
            self._pool, read, self._hub, self._encode, ask.room_id, after, ask.kinds
        )

    @contextmanager
    def listen(self, room_id: str, wake: Wake | None = None, looked_at: float = -inf) -> Generator[Wake]:
        """What rings at every wake of a room: a new `Wake`, or one that rings for other things too.

        To whoever comes to a watch that is already armed it rings at once, if it has rung since they last looked.
        """
        wake = wake or Wake()
        with self._present(room_id, wake) as room:
            if room.armed.is_set() and room.rung_at >= looked_at:
                wake.ring()
            yield wake

    @contextmanager
    def following(self, follower: Follower) -> Generator[RoomWatch]:
        self._followers.add(follower)
        if self._closing:
            follower.end("bye")
        try:
            with self._present(follower.ask.room_id, follower) as room:
                yield room
        finally:
            self._followers.discard(follower)

    def dismiss(self) -> None:
        """Let every follower go with a good-bye, and ring for all others."""
        self._closing = True
        for follower in self._followers:
            follower.end("bye")
        for room in self._rooms.values():
            room.stop()

    async def close(self) -> None:
        for room in list(self._rooms.values()):
            await self._loop.run_in_executor(self._pool, room.join)

    @contextmanager
    def _present(self, room_id: str, listener: RoomListener) -> Generator[RoomWatch]:
        room = self._rooms.get(room_id)
        if room is None or not room.add(listener):
            room = self._rooms[room_id] = RoomWatch(self._hub, self._encode, room_id, listener, self._ended)
        try:
            yield room
        finally:
            room.remove(listener)

    def _ended(self, room: RoomWatch) -> None:
        if self._rooms.get(room.room_id) is room:
            del self._rooms[room.room_id]

    def _start(self, ask: Cursor, *, from_now: bool) -> int:
        with self._hub.reading() as tx:
            head = tx.head(ask.room_id)
            start = reading.start(tx, ask.room_id, ask)
        return (head.seq if from_now else 0) if start is None else start
