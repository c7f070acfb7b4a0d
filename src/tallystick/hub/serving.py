"""The driver of calls in an event loop: no thread per caller, whether it writes, reads or waits.

What takes no time is done in the loop: a read or a lone write on the spot, and the writes that came in one round of it
as one group at the end of that round. Any other read goes to one of a few threads, and any other write to the group
committer, whose groups come back by one wake of the loop. A wait sleeps until its room is written to.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from time import monotonic
from typing import Generic, TypeAlias, TypeVar

from tallystick.hub import engine
from tallystick.hub.engine import (
    CallRequest,
    CallResponse,
    Observe,
    ReadStep,
    Signal,
    Step,
    Steps,
    WaitStep,
    WriteStep,
)
from tallystick.hub.feed import Feeds, Wake
from tallystick.hub.hub import Hub
from tallystick.hub.visitor import Visitor
from tallystick.hub.watching import Encode, WaitConditions
from tallystick.hub.writing import CallerLeft, Grouped, Outcome, QueuedWrite, queued
from tallystick.kernel.errors import HubClosed
from tallystick.kernel.operation import Answer
from tallystick.ledger.tx import Tx
from tallystick.storage.port import NotBrief

T = TypeVar("T")

READERS = 4
AT_ONCE = 32
"""So many writes of one round of the loop are a group that it commits itself."""
BRIEF_SECONDS = 0.005
"""How long their jobs may take together before the committing thread has to do them."""
LONG_SECONDS = 0.01
"""A group that took longer, most likely for the disk, is followed by ten times as long without another in the loop."""

OnWait: TypeAlias = Callable[[float, float], None]
"""Told at every look of a wait that found nothing how many seconds it has lasted, and of how many."""


class Serving:
    def __init__(self, hub: Hub, encode: Encode) -> None:
        if hub.committer is None:
            raise TypeError("Serving many callers needs a hub opened with grouped=True.")
        self.hub = hub
        self.pool = ThreadPoolExecutor(READERS, "tally-read")
        self.feeds = Feeds(hub, encode, self.pool)
        self.waits = 0
        """Calls that wait in a room, on whatever surface they came in."""
        self.closing = False
        self._committer = hub.committer
        self._loop = asyncio.get_running_loop()
        self._writes = _Writes(self._loop, hub.committer)
        self.checks = WaitConditions(self._loop, hub.world)

    async def call(self, visitor: Visitor, name: str, given: Mapping[str, object], *, key: str | None = None) -> Answer:
        return (await self.respond(CallRequest(visitor=visitor, operation=name, given=given, key=key))).answer

    async def respond(self, request: CallRequest, on_wait: OnWait | None = None) -> CallResponse:
        """The response; cancelled, nothing more is done for it, but a write that has begun is finished."""
        responding = self.begin(request, on_wait)
        return responding if isinstance(responding, CallResponse) else await responding

    def begin(self, request: CallRequest, on_wait: OnWait | None = None) -> CallResponse | Awaitable[CallResponse]:
        """Carry a call out: the response itself when that takes no time, otherwise what to await for it.

        The first write is on its way when this returns, if it was not done.
        """
        steps = engine.call(request, self.hub.observe)
        waiting = _AsyncWait(self, on_wait)
        try:
            step = next(steps)
            while isinstance(step, ReadStep | WriteStep):
                try:
                    if isinstance(step, ReadStep):
                        waiting.looks()
                        found = self.hub.read_at_once(step.run)
                    else:
                        found = self._writes.alone(step)
                except NotBrief:
                    break
                except Exception as failed:  # noqa: BLE001 - it belongs to the call, which raises it again
                    step = steps.throw(failed)
                else:
                    step = steps.send(found)
        except StopIteration as done:
            return done.value
        # A read that is still to be done was not brief.
        result = self._read(step.run) if isinstance(step, ReadStep) else self._started(step, waiting)
        return self._finish(steps, result, waiting)

    async def _finish(self, steps: Steps[CallResponse], result: Awaitable[object], waiting: _AsyncWait) -> CallResponse:
        """Carry out the steps of a call after the one whose result is awaited."""
        try:
            while True:
                try:
                    found = await result
                except asyncio.CancelledError:
                    self._abandon(steps)
                    raise
                except Exception as failed:  # noqa: BLE001 - it belongs to the call, which raises it again
                    step = steps.throw(failed)
                else:
                    step = steps.send(found)
                while isinstance(step, WriteStep) and step.detached:
                    self._detach(step)
                    step = steps.send(None)
                result = self._started(step, waiting)
        except StopIteration as done:
            return done.value
        finally:
            waiting.close()

    def _started(self, step: Step, waiting: _AsyncWait) -> Awaitable[object]:
        if isinstance(step, WriteStep):
            return self.write(step.run, step.room_id, step.also)
        if isinstance(step, ReadStep):
            waiting.looks()
            return self.look(step.run)
        if isinstance(step, WaitStep):
            return waiting.wait(step)
        run = step.run
        return self.read(lambda: run(self.hub.read))

    def _abandon(self, steps: Steps[CallResponse]) -> None:
        """The caller left: of what its call still wants, only detached writes are done."""
        with suppress(CallerLeft, StopIteration):
            step = steps.throw(CallerLeft())
            while True:
                if isinstance(step, WriteStep) and step.detached:
                    self._detach(step)
                    step = steps.send(None)
                else:
                    step = steps.throw(CallerLeft())

    def _detach(self, step: WriteStep) -> None:
        with suppress(HubClosed):
            self._committer.submit(step.run, step.room_id, step.also)

    def observe(self, commits: Callable[[int], None], calls: Observe) -> None:
        """Have the size of every committed group, and every finished call, told."""
        self._committer.on_commit, self.hub.observe = commits, calls

    async def look(self, at: Callable[[Tx], T]) -> T:
        """Read from the store in one transaction: at once, or in a thread when that would hold others up."""
        try:
            return self.hub.read_at_once(at)
        except NotBrief:
            return await self._read(at)

    def _read(self, at: Callable[[Tx], T]) -> asyncio.Future[T]:
        return self.read(lambda: self.hub.read(at))

    def read(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Have something done in a thread."""
        return self._loop.run_in_executor(self.pool, work)

    def write(self, job: Callable[[Tx], T], room_id: str | None = None, also: Sequence[str] = ()) -> asyncio.Future[T]:
        """Have a job committed together with whatever else is waiting."""
        waiter: asyncio.Future[T] = self._loop.create_future()

        def run(tx: Tx) -> T:
            if waiter.cancelled():
                raise CallerLeft
            return job(tx)

        self._writes.add(queued(run, _Here(waiter), room_id, also))
        return waiter

    def dismiss(self) -> None:
        """Shutting down: answer those who wait and let followers go; other calls are still served."""
        self.closing = True
        self.feeds.dismiss()

    async def close(self) -> None:
        """Stop reading and watching, once nobody is served any more. The hub itself stays open."""
        await self.feeds.close()
        self.pool.shutdown()


class _AsyncWait:
    """A call's watch on the room it waits for, armed by its first wait."""

    def __init__(self, serving: Serving, on_wait: OnWait | None) -> None:
        self._serving, self._on_wait = serving, on_wait
        self._watch: ExitStack | None = None
        self._wake: Wake
        self._looked_at = 0.0

    def looks(self) -> None:
        """It is about to read: whatever it was rung for before is found by that."""
        self._looked_at = monotonic()
        if self._watch:
            self._wake.clear()

    async def wait(self, step: WaitStep) -> Signal:
        first = self._watch is None
        if first:
            self._watch = ExitStack()
            listening = self._serving.feeds.listen(step.room_id, looked_at=self._looked_at)
            self._wake = self._watch.enter_context(listening)
            self._serving.waits += 1
        elif self._on_wait:
            self._on_wait(step.elapsed, step.total)
        with self._serving.checks.sharing(step.until, self._wake.ring):
            woken = not self._serving.closing and await self._wake.wait(step.seconds)
        if self._serving.closing:
            return Signal.STOPPED
        if first and woken:
            # What wakes it first is that the room is watched from now on, unless others had it watched before.
            return Signal.ARMED
        return Signal.WOKEN if woken else Signal.TIMEOUT

    def close(self) -> None:
        if self._watch:
            self._serving.waits -= 1
            self._watch.close()


class _Writes:
    """The writes of one round of the loop: by itself where there is one, otherwise all together at its end.

    The committing thread carries out what the loop must not wait for.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, committer: Grouped) -> None:
        self._loop, self._committer = loop, committer
        self._jobs: list[QueuedWrite[object]] = []
        self._outcomes = _Outcomes(loop)
        self._in_thread_until = 0.0
        self._this_round = self._last_round = 0
        """How many writes came."""

    def alone(self, step: WriteStep) -> object:
        """The result of a write that is likely to be the only one of its round; raises `NotBrief` for any other."""
        if self._this_round or self._last_round > 1 or self._outcomes.expected:
            raise NotBrief
        self._count()
        done = _Done()
        if not self._at_once([queued(step.run, done, step.room_id, step.also)]):
            raise NotBrief
        return done.result()

    def add(self, job: QueuedWrite[T]) -> None:
        self._count()
        self._jobs.append(job)  # pyright: ignore[reportArgumentType] - it does not matter what a job returns

    def _count(self) -> None:
        if not self._this_round:
            # It runs when everything that has come in by now was read.
            self._loop.call_soon(self._end_round)
        self._this_round += 1

    def _end_round(self) -> None:
        self._last_round, self._this_round = self._this_round, 0
        group, self._jobs = self._jobs, []
        if group and (self._outcomes.expected or len(group) > AT_ONCE or not self._at_once(group)):
            for job in group:
                self._hand_over(job)

    def _at_once(self, group: Sequence[QueuedWrite[object]]) -> bool:
        began = monotonic()
        if began < self._in_thread_until:
            return False
        done = self._committer.commit_at_once(group, BRIEF_SECONDS)
        ended = monotonic()
        if ended - began > LONG_SECONDS:
            self._in_thread_until = ended + 10 * (ended - began)
        return done

    def _hand_over(self, job: QueuedWrite[object]) -> None:
        here, job.done = job.done, _Outcome(self._outcomes, job.done)
        try:
            self._committer.enqueue(job)
        except HubClosed as closed:
            here.set_exception(closed)
        else:
            self._outcomes.expected += 1


class _Outcomes:
    """Outcomes on their way from the committing thread to the event loop; a whole group costs one wake of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.expected = 0
        """How many are on their way, as the event loop knows."""
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
            self.expected -= 1
            self._ready.popleft()()


class _Outcome(Generic[T]):
    """The outcome of a write that the committing thread carries out."""

    __slots__ = ("_outcomes", "_told")

    def __init__(self, outcomes: _Outcomes, told: Outcome[T]) -> None:
        self._outcomes, self._told = outcomes, told

    def set_result(self, result: T, /) -> None:
        self._outcomes.put(lambda: self._told.set_result(result))

    def set_exception(self, exception: BaseException, /) -> None:
        self._outcomes.put(lambda: self._told.set_exception(exception))


class _Done:
    """The outcome of a write that was carried out on the spot."""

    __slots__ = ("_exception", "_result")

    def set_result(self, result: object, /) -> None:
        self._result, self._exception = result, None

    def set_exception(self, exception: BaseException, /) -> None:
        self._exception = exception

    def result(self) -> object:
        if self._exception:
            raise self._exception
        return self._result


class _Here(Generic[T]):
    """The outcome of a write for the task that awaits it, told in the event loop."""

    __slots__ = ("_waiter",)

    def __init__(self, waiter: asyncio.Future[T]) -> None:
        self._waiter = waiter

    def set_result(self, result: T, /) -> None:
        if not self._waiter.cancelled():
            self._waiter.set_result(result)

    def set_exception(self, exception: BaseException, /) -> None:
        if not self._waiter.cancelled():
            self._waiter.set_exception(exception)
