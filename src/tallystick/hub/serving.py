"""The hub for many callers in one event loop: no thread per caller, whether it writes, reads or waits.

Writes go to the group committer and come back by one wake per group; a read that takes no time is done on the spot, any
other in one of a few threads; a wait looks, then sleeps until its room is woken. How far a caller may reach is checked
here for every call (see `tokens_reach`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from tallystick.hub import notices, presence, registry
from tallystick.hub.feed import Feeds
from tallystick.hub.feed_watch import Encode
from tallystick.hub.hub import Call, Hub, Reading, granted
from tallystick.hub.tokens_reach import Visitor, permit
from tallystick.hub.writing import Grouped, HubClosed
from tallystick.kernel.errors import Refused
from tallystick.kernel.operation import Answer, Declined, Pending
from tallystick.ledger.tx import Tx
from tallystick.storage.port import NotBrief

T = TypeVar("T")

READERS = 4


class CallerLeft(Exception):
    """Whoever asked for this write is gone, so it is not done."""


class _Returns:
    """Outcomes on their way from the committing thread to the event loop; a whole group costs one wake."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: deque[Callable[[], None]] = deque()
        self._called = False

    def put(self, tell: Callable[[], None]) -> None:
        self._ready.append(tell)
        if not self._called:
            self._called = True
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # First the flag, then the queue: what is put in between calls again.
        self._called = False
        while self._ready:
            self._ready.popleft()()


class _Return(Generic[T]):
    """The outcome of one write, for the task that awaits it."""

    __slots__ = ("_returns", "waiter")

    def __init__(self, returns: _Returns, waiter: asyncio.Future[T]) -> None:
        self._returns, self.waiter = returns, waiter

    def set_result(self, result: T, /) -> None:
        self._returns.put(lambda: None if self.waiter.cancelled() else self.waiter.set_result(result))

    def set_exception(self, exception: BaseException, /) -> None:
        self._returns.put(lambda: None if self.waiter.cancelled() else self.waiter.set_exception(exception))


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    answer: Answer
    notices: Sequence[str]
    """What the caller should know besides."""


def _seen(tx: Tx, call: Call, given: Mapping[str, object]) -> tuple[Served, bool]:
    """What a read answers, and whether the caller's presence wants writing."""
    answer = cast("Answer", granted(call.run(tx)))
    signs = notices.beside(tx, call.operation.name, given, answer, call.caller)
    return Served(answer=answer, notices=signs), _due(tx, call)


def _due(tx: Tx, call: Call) -> bool:
    return call.room_id is not None and presence.due(tx, call.room_id, call.acting(tx)) is not None


def _served(tx: Tx, call: Call, given: Mapping[str, object]) -> Served | Declined:
    found = call.write(tx)
    if isinstance(found, Declined):
        return found
    answer = cast("Answer", found)
    signs = notices.beside(tx, call.operation.name, given, answer, call.caller)
    return Served(answer=answer, notices=signs)


class Serving:
    def __init__(self, hub: Hub, encode: Encode) -> None:
        if not isinstance(hub.writer, Grouped):
            raise TypeError("Serving many callers needs a hub opened with grouped=True.")
        self.hub = hub
        self.pool = ThreadPoolExecutor(READERS, "tally-read")
        self.feeds = Feeds(hub, encode, self.pool)
        self.waits = 0
        self._writer = hub.writer
        self._loop = asyncio.get_running_loop()
        self._returns = _Returns(self._loop)
        self._closing = False

    async def call(self, visitor: Visitor, name: str, given: Mapping[str, object], *, key: str | None = None) -> Answer:
        return (await self.answered(visitor, name, given, key=key)).answer

    async def answered(
        self, visitor: Visitor, name: str, given: Mapping[str, object], *, key: str | None = None
    ) -> Served:
        """Run an operation for a visitor. Cancelled, it does nothing more; a write that has begun is finished."""
        operation = registry.find(name)
        permit(visitor, operation, given)
        if operation.prepare:
            call = await self.read(lambda: self.hub.prepare(name, given, visitor.caller, key))
        else:
            call = self.hub.prepare(name, given, visitor.caller, key)
        if operation.writes:
            return await self._write(call, lambda tx: _served(tx, call, given))
        if operation.waits:
            answer = await self._wait(call)
            signs = await self.look(lambda tx: notices.beside(tx, name, given, answer, visitor.caller))
            return Served(answer=answer, notices=signs)
        served, due = await self.look(lambda tx: _seen(tx, call, given))
        if due:
            await self._touch(call)
        return served

    def on_commit(self, told: Callable[[int], None]) -> None:
        """Have the size of every committed group told."""
        self._writer.on_commit = told

    async def look(self, at: Callable[[Tx], T]) -> T:
        """Read from the store in one transaction: at once, or in a thread when that would hold others up."""
        return await self.look_up(lambda reading: _within(reading, at))

    async def look_up(self, work: Callable[[Reading], T]) -> T:
        """The same for work that opens its transaction itself."""
        try:
            return work(self.hub.glancing)
        except NotBrief:
            return await self.read(lambda: work(self.hub.reading))

    async def read(self, work: Callable[[], T]) -> T:
        """Have something done in a thread."""
        return await self._loop.run_in_executor(self.pool, work)

    async def write(self, job: Callable[[Tx], T], room_id: str | None = None, also: Sequence[str] = ()) -> T:
        """Have a job committed together with whatever else is waiting."""
        waiter: asyncio.Future[T] = self._loop.create_future()

        def run(tx: Tx) -> T:
            if waiter.cancelled():
                raise CallerLeft
            return job(tx)

        self._writer.enqueue(run, _Return(self._returns, waiter), room_id, also)
        return await waiter

    def dismiss(self) -> None:
        """Shutting down: answer those who wait and let followers go; other calls are still served."""
        self._closing = True
        self.feeds.dismiss()

    async def close(self) -> None:
        """Stop reading and watching, once nobody is served any more. The hub itself stays open."""
        await self.feeds.close()
        self.pool.shutdown()

    async def _write(self, call: Call, job: Callable[[Tx], T | Declined]) -> T:
        try:
            found = await self.write(job, call.room_id, call.ask.also_locks)
            if isinstance(found, Declined):
                raise found.refusal
        except Refused:
            await self._attend(call)
            raise
        return found

    async def _attend(self, call: Call) -> None:
        """Keep the caller's presence fresh after a call that wrote nothing; most often there is nothing to do."""
        if await self.look(lambda tx: _due(tx, call)):
            await self._touch(call)

    async def _touch(self, call: Call) -> None:
        await self.write(lambda tx: presence.refresh(tx, call.room_id, call.acting(tx)))

    async def _look(self, call: Call) -> Answer | Pending[Answer]:
        found = await self.look(lambda tx: granted(call.run(tx)))
        return await self._write(call, call.write) if isinstance(found, Pending) and found.act else found

    async def _wait(self, call: Call) -> Answer:
        attendance = call.attendance
        if attendance is None:
            return await self._look_until(call)
        token = await self.write(lambda tx: attendance.begin(tx, call.acting(tx), call.ask), call.room_id)
        try:
            return await self._look_until(call)
        finally:
            # Not awaited, so that it is written for a caller who has left too.
            with suppress(HubClosed):
                self._writer.submit(lambda tx: attendance.end(tx, call.acting(tx), call.ask, token), call.room_id)

    async def _look_until(self, call: Call) -> Answer:
        """Look, and look again at every wake, until there is an answer or the time is up."""
        await self._attend(call)
        started = self._loop.time()
        # The first look refuses an unknown room before anything watches it.
        found = await self._look(call)
        if not isinstance(found, Pending) or not found.wait_ms:
            return found.otherwise if isinstance(found, Pending) else found
        self.waits += 1
        try:
            with self.feeds.listen(call.room_id or "") as wake:
                while (left := started + found.wait_ms / 1000 - self._loop.time()) > 0 and not self._closing:
                    await wake.wait(min(found.every_ms / 1000, left))
                    found = await self._look(call)
                    if not isinstance(found, Pending):
                        return found
                return found.otherwise
        finally:
            self.waits -= 1


def _within(reading: Reading, at: Callable[[Tx], T]) -> T:
    with reading() as tx:
        return at(tx)
