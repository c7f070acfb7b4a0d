"""What ends a wait in an event loop: a room's new events, or a deadline or the end of a process, which wake nobody.

A room is watched by a thread that waits for wakes, reads what is new once, and posts it to the loop. It starts with the
first listener and ends soon after the last one left. A lost wake costs a quarter of a second, never an event, because
the thread looks again after every timeout. What wakes nobody is checked without the store: all waits of a loop that
depend on the same thing share one timer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from tallystick.hub.hub import Hub
from tallystick.kernel.caller import ProcessState
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import Unannounced
from tallystick.ledger import reading
from tallystick.ledger.errors import RoomNotFound
from tallystick.ledger.tx import World
from tallystick.storage.port import EVERY_ROOM

if TYPE_CHECKING:
    import asyncio

LOOK_EVERY_SECONDS = 0.25
BATCH_EVENTS = 200
BATCH_BYTES = 1024 * 1024

Encode: TypeAlias = Callable[[Event], bytes]

log = logging.getLogger("tallystick.feed")

Ring: TypeAlias = Callable[[], None]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    kind: str
    frame: bytes


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive events, encoded once for everybody."""

    items: Sequence[Item]
    last: int
    """The seq up to which nothing is missing, filtered events included."""
    full: bool
    """There may be more."""
    data: bytes


class RoomListener(Protocol):
    """Whoever is interested in a room."""

    def ring(self) -> None:
        """Something may have happened."""
        ...

    def take(self, batch: Batch) -> None:
        """Events after the seq at which the listener went live."""
        ...


def read(hub: Hub, encode: Encode, room_id: str, after: int, kinds: Sequence[str] = ()) -> Batch:
    """The next events after a seq; refuses an unknown room."""
    with hub.reading() as tx:
        head = tx.head(room_id).seq
        events = reading.since(tx, room_id, after, kinds=kinds, limit=BATCH_EVENTS)
    items: list[Item] = []
    size = 0
    for event in events:
        items.append(Item(seq=event.seq, kind=event.kind, frame=encode(event)))
        size += len(items[-1].frame)
        if size >= BATCH_BYTES:
            break
    full = len(items) == BATCH_EVENTS or len(items) < len(events)
    last = items[-1].seq if full else max(head, after)
    return Batch(items=items, last=last, full=full, data=b"".join(item.frame for item in items))


class RoomWatch:
    """What the event loop shares with one room's thread. Only `_run` and what it calls happen in the thread."""

    def __init__(
        self, hub: Hub, encode: Encode, room_id: str, first: RoomListener, ended: Callable[[RoomWatch], None]
    ) -> None:
        self.room_id = room_id
        self.armed = asyncio.Event()
        self.rung_at = -inf
        """When it last rang, by `monotonic`; the first time when it was armed."""
        self._hub, self._encode, self._ended = hub, encode, ended
        self._loop = asyncio.get_running_loop()
        self._changing = threading.Lock()
        self._over = False
        self._listeners: set[RoomListener] = {first}
        self._live: set[RoomListener] = set()
        # The number of the live period, and the seq up to which events were given out in it. What was read for an
        # earlier period is not given out in a later one.
        self._place = (0, 0)
        self._read = (0, 0)
        """The same as far as the thread has read."""
        self._head = -1
        self._taken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tally-watch", daemon=True)
        self._thread.start()

    def add(self, listener: RoomListener) -> bool:
        """Ring for this listener at every wake; False when this watch has just ended."""
        with self._changing:
            if not self._over:
                self._listeners.add(listener)
            return not self._over

    def go_live(self, listener: RoomListener, cursor: int) -> bool:
        """Give the listener everything after `cursor` from now on; False when later events were given out already."""
        period, given = self._place
        if not self._live:
            self._place = (period + 1, cursor)
        elif cursor < given:
            return False
        self._live.add(listener)
        return True

    def remove(self, listener: RoomListener) -> None:
        self._live.discard(listener)
        with self._changing:
            self._listeners.discard(listener)

    def stop(self) -> None:
        """End the thread soon, whoever is still there."""
        with self._changing:
            self._over = True
        self._ring()

    def join(self) -> None:
        self._thread.join()

    def _give(self, period: int, batch: Batch) -> None:
        now, given = self._place
        if period == now and batch.last > given:
            self._place = (period, batch.last)
            for listener in tuple(self._live):
                listener.take(batch)
        # Behind the parties' own tasks, which the loop has just been told to run.
        self._loop.call_soon(self._taken.set)

    def _ring(self) -> None:
        self.rung_at = monotonic()
        for listener in tuple(self._listeners):
            listener.ring()

    def _arm(self) -> None:
        self.armed.set()
        self._ring()

    def _run(self) -> None:
        failing = False
        while not self._done():
            try:
                self._look()
                self._watch()
            except Exception as failed:
                # Said once, not four times a second. Meanwhile nobody hangs: everything goes on by looking.
                if not failing:
                    log.warning("a room cannot be watched, and is looked at instead", exc_info=failed)
                failing = True
                self._loop.call_soon_threadsafe(self._arm)
                self._taken.clear()
                self._taken.wait(LOOK_EVERY_SECONDS)
        self._loop.call_soon_threadsafe(self._ended, self)

    def _watch(self) -> None:
        watch = self._hub.store.watch(self.room_id)
        try:
            self._loop.call_soon_threadsafe(self._arm)
            self._moved()
            while not self._done():
                if watch.wait(LOOK_EVERY_SECONDS) or self._moved():
                    self._loop.call_soon_threadsafe(self._ring)
                self._look()
        finally:
            watch.close()

    def _moved(self) -> bool:
        """Whether anything was written since the last quiet look: a wake may have been lost."""
        if self.room_id == EVERY_ROOM:
            return False
        try:
            head = self._hub.read(lambda tx: tx.head(self.room_id).seq)
        except RoomNotFound:
            return False  # What is watched need not be a room: tokens are woken in the same way.
        before, self._head = self._head, head
        return self._head != before

    def _look(self) -> None:
        """Post whatever those who are live have not been given yet, no faster than the loop hands it out."""
        more = bool(self._live)
        while more:
            period, given = self._place
            if self._read[0] != period:
                self._read = (period, given)
            batch = read(self._hub, self._encode, self.room_id, self._read[1])
            self._read = (period, batch.last)
            if batch.items:
                self._taken.clear()
                self._loop.call_soon_threadsafe(self._give, period, batch)
            more = batch.full
            if more:
                self._taken.wait(1)

    def _done(self) -> bool:
        with self._changing:
            self._over = self._over or not self._listeners
            return self._over


class WaitConditions:
    """Rings for those who wait for the same thing once it has come. Everything here belongs to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, world: World) -> None:
        self._loop, self._world = loop, world
        self._waiting: dict[Unannounced, set[Ring]] = {}

    @contextmanager
    def sharing(self, what: Unannounced, ring: Ring) -> Generator[None]:
        """Ring when it has come, as long as this lasts."""
        if what.moment is None and what.process_ends is None:
            yield
            return
        if what not in self._waiting:
            self._waiting[what] = set()
            self._again(what)
        waiting = self._waiting[what]
        waiting.add(ring)
        try:
            yield
        finally:
            waiting.discard(ring)

    def _again(self, what: Unannounced) -> None:
        self._loop.call_later(what.every_ms / 1000, self._check, what)

    def _check(self, what: Unannounced) -> None:
        waiting = self._waiting[what]
        if waiting and not self._has_come(what):
            self._again(what)
            return
        del self._waiting[what]
        for ring in waiting:
            ring()

    def _has_come(self, what: Unannounced) -> bool:
        if what.moment is not None and self._world.clock() >= what.moment:
            return True
        return what.process_ends is not None and self._world.process_state(what.process_ends) is ProcessState.GONE
