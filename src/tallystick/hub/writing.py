"""Group commit: the writes of concurrent callers share a transaction.

A write that is refused before it changed anything leaves no trace in its group. When one fails later, the group is
rolled back and divided: what came before it is tried again together, then it alone, then the rest. When the transaction
itself fails, each is tried alone, or told to try again when the store is not to be had at all.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

import msgspec

from tallystick.kernel.errors import HubClosed, Refused, Unavailable
from tallystick.ledger.tx import Tx, World
from tallystick.storage.port import Store

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
GROUP_LIMIT = 128


class CallerLeft(Exception):
    """Nobody waits for the outcome any more, so what was not begun is not done."""


class Outcome(Protocol[T_contra]):
    """Where the result of a write goes, or what it failed with. Told by the committing thread, after the commit."""

    def set_result(self, result: T_contra, /) -> None: ...

    def set_exception(self, exception: BaseException, /) -> None: ...


class _Job(msgspec.Struct, Generic[T], eq=False):
    run: Callable[[Tx], T]
    rooms: Sequence[str]
    done: Outcome[T]
    outcome: Callable[[], None] | None = None


class Grouped:
    """One thread commits what came in while it committed the last group: for a hub that serves many."""

    def __init__(self, store: Store, world: World) -> None:
        self._store, self._world = store, world
        self._closed = False
        self.on_commit: Callable[[int], None] = lambda _size: None
        """Told the size of every group that was committed."""
        self._state = threading.Lock()
        self._jobs: queue.SimpleQueue[_Job[object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, job: Callable[[Tx], T], room_id: str | None, also: Sequence[str] = ()) -> T:
        return self.submit(job, room_id, also).result()

    def submit(self, job: Callable[[Tx], T], room_id: str | None, also: Sequence[str] = ()) -> Future[T]:
        done: Future[T] = Future()
        self.enqueue(job, done, room_id, also)
        return done

    def enqueue(self, job: Callable[[Tx], T], done: Outcome[T], room_id: str | None, also: Sequence[str] = ()) -> None:
        entry = _Job(job, [room_id, *also] if room_id else also, done)
        with self._state:
            # Checked under the lock: what came after the end mark would never be served.
            if self._closed:
                raise HubClosed
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="tally-commit", daemon=True)
                self._thread.start()
            self._jobs.put(entry)  # pyright: ignore[reportArgumentType] - the queue does not care what a job returns

    def close(self) -> None:
        """Finish what was accepted, then stop."""
        with self._state:
            self._closed = True
            self._jobs.put(None)
        if self._thread:
            self._thread.join()

    def _serve(self) -> None:
        while True:
            group: list[_Job[object]] = []
            job = self._jobs.get()
            while job is not None:
                group.append(job)
                if len(group) == GROUP_LIMIT or self._jobs.empty():
                    break
                job = self._jobs.get()
            if group:
                self._commit(group)
            if job is None:
                return

    def _commit(self, group: list[_Job[object]]) -> None:
        failing: _Job[object] | None = None
        try:
            with self._store.write() as rows:
                tx = Tx(rows, self._world, writable=True)
                # One order for everybody, so that two hubs on one PostgreSQL never wait for each other in a circle.
                for room_id in sorted({room_id for job in group for room_id in job.rooms}):
                    tx.try_lock(room_id)
                for job in group:
                    failing = job
                    self._attempt(tx.next(), job)
                failing = None
                tx.settle()
        except Exception as failed:  # noqa: BLE001 - whatever it is, it must reach the callers, and this thread goes on
            self._retry(group, failing, failed)
            return
        self.on_commit(len(group))
        for job in group:
            if job.outcome:
                job.outcome()

    def _attempt(self, tx: Tx, job: _Job[object]) -> None:
        """Run one job; its outcome is told only after the commit."""
        try:
            result = job.run(tx)
        except Exception as failed:
            if tx.wrote or not isinstance(failed, Refused | CallerLeft):
                raise
            job.outcome = _teller(job.done.set_exception, failed)
        else:
            job.outcome = _teller(job.done.set_result, result)

    def _retry(self, group: list[_Job[object]], failing: _Job[object] | None, failed: Exception) -> None:
        """Divide a group that failed, at this job if at one of them, unless all would only wait for the store again."""
        if len(group) == 1 or isinstance(failed, Unavailable):
            for job in group:
                job.done.set_exception(failed)
            return
        if failing is None:
            parts = [[job] for job in group]
        else:
            at = group.index(failing)
            parts = [group[:at], [failing], group[at + 1 :]]
        for part in filter(None, parts):
            for job in part:
                job.outcome = None
            self._commit(part)


def _teller(tell: Callable[[T], None], what: T) -> Callable[[], None]:
    return lambda: tell(what)
