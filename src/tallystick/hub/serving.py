"""The hub for many callers in one event loop: no thread per caller, whether it writes, reads or waits.

Writes go to the group committer and come back by one wake per group; a read that takes no time is done on the spot, any
other in one of a few threads; a wait looks, then sleeps until its room is woken. How far a caller may reach is checked
here for every call (see `tokens_reach`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar, cast

import msgspec

from tallystick.hub import notices, presence, registry
from tallystick.hub.feed import Feeds
from tallystick.hub.feed_watch import Encode
from tallystick.hub.hub import Call, Hub, granted
from tallystick.hub.returns import CallerLeft, Return, Returns
from tallystick.hub.tokens_reach import Visitor, permit
from tallystick.hub.writing import Grouped, HubClosed
from tallystick.kernel.errors import Refused
from tallystick.kernel.operation import Answer, Declined, Pending
from tallystick.ledger.tx import Tx
from tallystick.storage.port import NotBrief

T = TypeVar("T")

READERS = 4


class Served(msgspec.Struct, frozen=True, kw_only=True):
    answer: Answer
    notices: Sequence[str] = ()
    """What the caller should know besides."""


class Asked(msgspec.Struct, frozen=True):
    """One call, and whether its caller listens to notices."""

    call: Call
    given: Mapping[str, object]
    noticing: bool

    def served(self, tx: Tx, answer: Answer) -> Served:
        if not self.noticing:
            return Served(answer=answer)
        signs = notices.beside(tx, self.call.operation, self.given, answer, self.call.caller)
        return Served(answer=answer, notices=signs)

    def read(self, tx: Tx) -> tuple[Served, bool]:
        """What a read answers, and whether the caller's presence wants writing."""
        answer = cast("Answer", granted(self.call.run(tx)))
        return self.served(tx, answer), _due(tx, self.call)

    def write(self, tx: Tx) -> Served | Declined:
        found = self.call.write(tx)
        return found if isinstance(found, Declined) else self.served(tx, cast("Answer", found))


def _due(tx: Tx, call: Call) -> bool:
    return call.room_id is not None and presence.due(tx, call.room_id, call.acting(tx)) is not None


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
        self._returns = Returns(self._loop)
        self._closing = False

    async def call(self, visitor: Visitor, name: str, given: Mapping[str, object], *, key: str | None = None) -> Answer:
        served = self.serve(visitor, name, given, key=key)
        return (served if isinstance(served, Served) else await served).answer

    async def answered(
        self, visitor: Visitor, name: str, given: Mapping[str, object], *, key: str | None = None
    ) -> Served:
        """The answer, with the notices beside it."""
        served = self.serve(visitor, name, given, key=key, noticing=True)
        return served if isinstance(served, Served) else await served

    def serve(
        self,
        visitor: Visitor,
        name: str,
        given: Mapping[str, object],
        *,
        key: str | None = None,
        noticing: bool = False,
    ) -> Served | Awaitable[Served]:
        """Run an operation for a visitor: the answer itself when it takes no time, otherwise what to await for it.

        Cancelled, it does nothing more; a write that has begun is finished.
        """
        operation = registry.find(name)
        permit(visitor, operation, given)
        if operation.prepare:
            return self._prepared(visitor, name, given, key, noticing)
        asked = Asked(self.hub.prepare(name, given, visitor.caller, key), given, noticing)
        if operation.writes or operation.waits:
            return self._serve(asked)
        try:
            served, due = self.hub.glance(asked.read)
        except NotBrief:
            return self._read(asked)
        return self._touched(asked, served, due) if due else served

    def on_commit(self, told: Callable[[int], None]) -> None:
        """Have the size of every committed group told."""
        self._writer.on_commit = told

    async def look(self, at: Callable[[Tx], T]) -> T:
        """Read from the store in one transaction: at once, or in a thread when that would hold others up."""
        try:
            return self.hub.glance(at)
        except NotBrief:
            return await self.read(lambda: self._within(at))

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

        self._writer.enqueue(run, Return(self._returns, waiter), room_id, also)
        return await waiter

    def dismiss(self) -> None:
        """Shutting down: answer those who wait and let followers go; other calls are still served."""
        self._closing = True
        self.feeds.dismiss()

    async def close(self) -> None:
        """Stop reading and watching, once nobody is served any more. The hub itself stays open."""
        await self.feeds.close()
        self.pool.shutdown()

    async def _prepared(
        self, visitor: Visitor, name: str, given: Mapping[str, object], key: str | None, noticing: bool
    ) -> Served:
        call = await self.read(lambda: self.hub.prepare(name, given, visitor.caller, key))
        return await self._serve(Asked(call, given, noticing))

    async def _serve(self, asked: Asked) -> Served:
        operation = asked.call.operation
        if operation.writes:
            return await self._write(asked.call, asked.write)
        if not operation.waits:
            return await self._touched(asked, *await self.look(asked.read))
        answer = await self._wait(asked.call)
        return await self.look(lambda tx: asked.served(tx, answer)) if asked.noticing else Served(answer=answer)

    async def _read(self, asked: Asked) -> Served:
        return await self._touched(asked, *await self.read(lambda: self._within(asked.read)))

    async def _touched(self, asked: Asked, served: Served, due: bool) -> Served:
        if due:
            await self._touch(asked.call)
        return served

    def _within(self, at: Callable[[Tx], T]) -> T:
        with self.hub.reading() as tx:
            return at(tx)

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
