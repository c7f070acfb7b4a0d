"""Group commit: the writes of concurrent callers share a transaction. One that carries a key is done once.

A write that is refused before it changed anything leaves no trace in its group. When one fails later, the group is
rolled back and divided: what came before it is tried again together, then it alone, then the rest. When the transaction
itself fails, each is tried alone, or told to try again when the store is not to be had at all. The answer to a key is
stored in the transaction of its write, so a caller that lost the reply can always ask again.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

import msgspec

from tallystick.kernel.errors import Conflict, HubClosed, InvalidField, Refused, TooLarge, Unavailable
from tallystick.kernel.ids import digest
from tallystick.kernel.operation import Answer, AnyOperation, Ask
from tallystick.ledger.tx import Tx, World
from tallystick.storage.port import Store
from tallystick.storage.sql_files import Queries

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
GROUP_LIMIT = 128

SQL = Queries("tallystick.hub")
KEY_LIMIT = 200
KEPT_MS = 24 * 60 * 60 * 1000


class CallerLeft(Exception):
    """Nobody waits for the outcome any more, so what was not begun is not done."""


class _WriteFailed(Exception):
    """One job of a group failed after something was written, or for no reason that a caller should be told."""

    def __init__(self, job: QueuedWrite[object], reason: Exception) -> None:
        super().__init__()
        self.job, self.reason = job, reason


class Outcome(Protocol[T_contra]):
    """Where the result of a write goes, or what it failed with. Told by the committing thread, after the commit."""

    def set_result(self, result: T_contra, /) -> None: ...

    def set_exception(self, exception: BaseException, /) -> None: ...


class QueuedWrite(msgspec.Struct, Generic[T], eq=False):
    """One write: what it does, the rooms it locks, and who is told of its outcome."""

    run: Callable[[Tx], T]
    rooms: Sequence[str]
    done: Outcome[T]
    outcome: Callable[[], None] | None = None


def queued(run: Callable[[Tx], T], done: Outcome[T], room_id: str | None, also: Sequence[str]) -> QueuedWrite[T]:
    return QueuedWrite(run, [room_id, *also] if room_id else also, done)


class Grouped:
    """One thread commits what came in while it committed the last group: for a hub that serves many.

    A caller that has a group at hand may commit it itself, if that takes no time (`commit_at_once`).
    """

    def __init__(self, store: Store, world: World, brief_world: World) -> None:
        self._store, self._world, self._brief_world = store, world, brief_world
        self._closed = False
        self.on_commit: Callable[[int], None] = lambda _size: None
        """Told the size of every group that was committed."""
        self._state = threading.Lock()
        self._jobs: queue.SimpleQueue[QueuedWrite[object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, job: Callable[[Tx], T], room_id: str | None, also: Sequence[str] = ()) -> T:
        return self.submit(job, room_id, also).result()

    def submit(self, job: Callable[[Tx], T], room_id: str | None, also: Sequence[str] = ()) -> Future[T]:
        done: Future[T] = Future()
        self.enqueue(queued(job, done, room_id, also))
        return done

    def enqueue(self, job: QueuedWrite[T]) -> None:
        with self._state:
            # Checked under the lock: what came after the end mark would never be served.
            if self._closed:
                raise HubClosed
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="tally-commit", daemon=True)
                self._thread.start()
            self._jobs.put(job)  # pyright: ignore[reportArgumentType] - the queue does not care what a job returns

    def close(self) -> None:
        """Finish what was accepted, then stop."""
        with self._state:
            self._closed = True
            self._jobs.put(None)
        if self._thread:
            self._thread.join()

    def _serve(self) -> None:
        while True:
            group: list[QueuedWrite[object]] = []
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

    def commit_at_once(self, group: Sequence[QueuedWrite[object]], seconds: float) -> bool:
        """Commit a group in the calling thread, unless it must wait or its jobs take longer than so many seconds.

        False: nothing was written and nobody told, whatever the reason; the group is to be enqueued.
        """
        if self._closed:
            return False
        try:
            with self._store.brief_write(seconds) as rows:
                self._carry_out(group, Tx(rows, self._brief_world, writable=True))
        except Exception:  # noqa: BLE001 - the thread will find out what it is, and tell the callers
            self._forget(group)
            return False
        self._notify(group)
        return True

    def _commit(self, group: Sequence[QueuedWrite[object]]) -> None:
        try:
            with self._store.write() as rows:
                self._carry_out(group, Tx(rows, self._world, writable=True))
        except _WriteFailed as failed:
            self._retry(group, failed.job, failed.reason)
        except Exception as failed:  # noqa: BLE001 - whatever it is, it must reach the callers, and this thread goes on
            self._retry(group, None, failed)
        else:
            self._notify(group)

    def _carry_out(self, group: Sequence[QueuedWrite[object]], tx: Tx) -> None:
        # One order for everybody, so that two hubs on one PostgreSQL never wait for each other in a circle.
        for room_id in sorted({room_id for job in group for room_id in job.rooms}):
            tx.try_lock(room_id)
        for job in group:
            self._attempt(tx.next(), job)
        tx.settle()

    def _notify(self, group: Sequence[QueuedWrite[object]]) -> None:
        self.on_commit(len(group))
        for job in group:
            if job.outcome:
                job.outcome()

    def _attempt(self, tx: Tx, job: QueuedWrite[object]) -> None:
        """Run one job; its outcome is told only after the commit."""
        try:
            result = job.run(tx)
        except Exception as failed:
            if tx.wrote or not isinstance(failed, Refused | CallerLeft):
                raise _WriteFailed(job, failed) from failed
            job.outcome = _notifier(job.done.set_exception, failed)
        else:
            job.outcome = _notifier(job.done.set_result, result)

    def _forget(self, group: Sequence[QueuedWrite[object]]) -> None:
        """What these jobs found out was rolled back, and so was what they remembered to have written."""
        for job in group:
            job.outcome = None
            for room_id in job.rooms:
                self._world.caches.drop(room_id)

    def _retry(
        self, group: Sequence[QueuedWrite[object]], failing: QueuedWrite[object] | None, failed: Exception
    ) -> None:
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
        self._forget(group)
        for part in filter(None, parts):
            self._commit(part)


def _notifier(tell: Callable[[T], None], what: T) -> Callable[[], None]:
    return lambda: tell(what)


class IdempotencyConflict(Conflict):
    """That idempotency key was already used for a different request."""

    hint = "Use a new key for a new request; repeat a key only with exactly the same request."


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    digest: str
    answer: str


class IdempotencyKey(msgspec.Struct, frozen=True, kw_only=True):
    """One keyed request of one principal."""

    principal: str
    key: str
    digest: str

    @classmethod
    def of(cls, principal: str, key: str, operation: AnyOperation, ask: Ask) -> IdempotencyKey:
        if len(key) > KEY_LIMIT:
            raise TooLarge(f"An idempotency key has at most {KEY_LIMIT} characters.", limit=KEY_LIMIT)
        if not key.isprintable():
            raise InvalidField("An idempotency key is printable text.")
        try:
            asked = ask.to_json().decode()
        except (TypeError, ValueError, OverflowError, RecursionError) as wrong:
            raise InvalidField(f"The request cannot be written as JSON: {wrong}.") from wrong
        return cls(principal=principal, key=key, digest=digest(operation.name, asked, length=64))


def recall_reply(tx: Tx, key: IdempotencyKey, operation: AnyOperation) -> Answer | None:
    """The answer given before, if this very request was already done."""
    kept = tx.one(SQL["reply"], StoredReply, principal=key.principal, key=key.key)
    if kept is None:
        return None
    if kept.digest != key.digest:
        raise IdempotencyConflict(key=key.key)
    return operation.read_answer(kept.answer)


def keep_reply(tx: Tx, key: IdempotencyKey, answer: Answer) -> None:
    tx.run(SQL["forget_older"], principal=key.principal, before=tx.now - KEPT_MS)
    tx.run(
        SQL["keep"],
        principal=key.principal,
        key=key.key,
        digest=key.digest,
        answer=answer.to_json().decode(),
        created_at=tx.now,
    )
