"""The hub: takes a named call from any surface and runs it in one transaction, or in as many looks as a wait needs.

It knows nothing of any capability beyond what the registry declares, and keeps a member's presence fresh on its calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar, cast

import msgspec

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.blobs.model import Files
from tallystick.harnesses import processes
from tallystick.hub import asking, presence, registry, replies
from tallystick.hub.blobs import BlobFolder, NoFiles
from tallystick.hub.settings import STALE_MS, Settings
from tallystick.hub.writing import Direct, Grouped, Writer
from tallystick.kernel.caller import Caller, Process, ProcessState
from tallystick.kernel.clock import Clock, system_clock
from tallystick.kernel.errors import Refused, Unavailable
from tallystick.kernel.ids import NewId, new_id
from tallystick.kernel.operation import Answer, Ask, Attendance, Declined, Operation, Pending
from tallystick.ledger.tx import Tx, World
from tallystick.storage.open import open_store
from tallystick.storage.port import Store

T = TypeVar("T")
GLANCE_SECONDS = 0.001


class Interest(Protocol):
    """How a surface takes part in a long wait."""

    def stopped(self) -> bool:
        """Whether the caller went away."""
        ...

    def waiting(self, elapsed: float, total: float) -> None:
        """Called at every look that found nothing."""
        ...


class Patient:
    """Waits to the end and reports nothing."""

    def stopped(self) -> bool:
        return False

    def waiting(self, elapsed: float, total: float) -> None:
        pass


Found: TypeAlias = Answer | Pending[Answer] | Declined


class Call(msgspec.Struct, frozen=True):
    """One checked call: what to run, with which input, for whom, and under which idempotency key."""

    operation: Operation
    ask: Ask
    caller: Caller
    room_id: str | None = None
    more: tuple[object, ...] = ()
    key: replies.Key | None = None

    def run(self, tx: Tx, me: Caller | None = None) -> Found:
        return cast("Found", self.operation.run(tx, me or self.acting(tx), self.ask, *self.more))

    def acting(self, tx: Tx) -> Caller:
        """The caller as the agent it acts for in this room."""
        return agents.acting(tx, self.room_id, self.caller)

    @property
    def attendance(self) -> Attendance | None:
        """What has to be written around this wait, if anything."""
        found = self.operation.attendance
        return found if found and found.wanted(self.ask) else None

    def write(self, tx: Tx) -> Found:
        """Run as the room's only writer; a keyed call that was done before only gives its answer again."""
        if also := self.ask.also_locks:
            # In one order for everybody, so that no two calls wait for each other in a circle.
            for room_id in sorted({self.room_id or "", *also}):
                tx.try_lock(room_id)
        if self.room_id is not None:
            tx.lock(self.room_id)
        if self.key and (known := replies.recall(tx, self.key, self.operation)):
            return known
        me = self.acting(tx)
        presence.refresh(tx, self.room_id, me)
        answer = self.run(tx, me)
        if tx.appended and self.room_id is not None and not isinstance(answer, Declined):
            presence.progress(tx, self.room_id, me)
        if self.key and not isinstance(answer, Pending | Declined):
            replies.keep(tx, self.key, answer)
        return answer


class Hub:
    def __init__(
        self,
        store: Store,
        *,
        clock: Clock = system_clock,
        new_id: NewId = new_id,
        stale_ms: int = STALE_MS,
        process_state: Callable[[Process], ProcessState] = processes.state,
        machine_id: str | None = None,
        grouped: bool = False,
        blobs: Path | None = None,
    ) -> None:
        self.store = store
        self.blobs = BlobFolder(blobs)
        self.world = World(
            clock=clock,
            new_id=new_id,
            process_state=process_state,
            machine_id=machine_id or processes.machine_id(),
            stale_ms=stale_ms,
            projections=registry.projections(),
            deferred=registry.deferred(),
            offers={**registry.offers(), Files: self.blobs},
        )
        self._hasty = replace(self.world, offers={**self.world.offers, Files: NoFiles()})
        self.writer: Writer = Grouped(store, self.world) if grouped else Direct(store, self.world)

    @classmethod
    def open(cls, settings: Settings, *, grouped: bool = False) -> Hub:
        store = open_store(
            settings.database_url,
            settings.data_dir,
            full_sync=settings.full_sync,
            allow_network_fs=settings.allow_network_fs,
        )
        store.migrate(registry.schema())
        return cls(store, grouped=grouped, blobs=settings.data_dir / "blobs", stale_ms=settings.agent_stale_ms)

    def close(self) -> None:
        self.writer.close()
        self.store.close()

    @contextmanager
    def reading(self) -> Generator[Tx]:
        with self.store.read() as rows:
            yield Tx(rows, self.world, writable=False)

    def glance(self, at: Callable[[Tx], T]) -> T:
        """Read what takes no time, and nothing but the store; raises `NotBrief` where that does not do."""
        with self.store.brief(GLANCE_SECONDS) as rows:
            return at(Tx(rows, self._hasty, writable=False))

    @contextmanager
    def writing(self) -> Generator[Tx]:
        with self.store.write() as rows:
            tx = Tx(rows, self.world, writable=True)
            yield tx
            tx.settle()

    def prepare(self, name: str, given: Mapping[str, object], caller: Caller, key: str | None = None) -> Call:
        """Check a call before any transaction opens."""
        operation = registry.find(name)
        ask = asking.build(operation, given)
        more = (self._looked(operation, ask, caller),) if operation.prepare else ()
        kept = replies.Key.of(caller.agent_id, key, operation, ask) if key else None
        return Call(operation, ask, caller, vars(ask).get("room_id"), more, kept)

    def _looked(self, operation: Operation, ask: Ask, caller: Caller) -> object:
        """What an operation wants to know of the world outside before its transaction opens."""
        look = cast("Callable[..., object]", operation.prepare)
        survey = operation.survey
        if survey is None:
            return look(ask)

        def surveyed() -> object:
            with self.reading() as tx:
                return survey(tx, caller, ask)

        return look(ask, surveyed)

    def call(
        self,
        name: str,
        given: Mapping[str, object],
        caller: Caller,
        interest: Interest | None = None,
        *,
        key: str | None = None,
    ) -> Answer:
        """Run an operation for a caller. Raises a `TallyError` instead of answering; nothing is half-written."""
        return self.run(self.prepare(name, given, caller, key), interest)

    def run(self, call: Call, interest: Interest | None = None) -> Answer:
        if call.operation.waits:
            return self._wait(call, interest or Patient())
        if call.operation.writes:
            return cast("Answer", self.write(call))
        with self.reading() as tx:
            answer = cast("Answer", granted(call.run(tx)))
        self.touch(call)
        return answer

    def write(self, call: Call, job: Callable[[Tx], Found] | None = None) -> Answer | Pending[Answer]:
        try:
            return granted(self.writer.run(job or call.write, call.room_id, call.ask.also_locks))
        except Refused:
            # A refused call changed nothing, yet it shows that the caller is there.
            self.touch(call)
            raise

    def touch(self, call: Call) -> None:
        """Refresh a member's presence after a call that did not write; most often there is nothing to do."""
        if call.room_id is None:
            return
        with self.reading() as tx:
            due = presence.due(tx, call.room_id, call.acting(tx)) is not None
        if due:
            self.writer.run(lambda tx: presence.refresh(tx, call.room_id, call.acting(tx)), None)

    def look(
        self, call: Call, interest: Interest | None = None, woken: Pending[Answer] | None = None
    ) -> Answer | Pending[Answer]:
        """One look of a waiting call: reads, and writes only when there is something to do.

        Whoever was woken and is next in line looks as a writer at once: it is most likely its turn.
        """
        if woken and woken.next_in_line:
            found: Answer | Pending[Answer] = woken
        else:
            with self.reading() as tx:
                found = granted(call.run(tx))
            if not isinstance(found, Pending) or not found.act:
                return found
        # Asked inside the transaction, which may have had to queue: nothing is given to a caller who has left.
        return self.write(call, lambda tx: found if interest and interest.stopped() else call.write(tx))

    def _wait(self, call: Call, interest: Interest) -> Answer:
        attendance = call.attendance
        if attendance is None:
            return self._look_until(call, interest)
        token = self.writer.run(lambda tx: attendance.begin(tx, call.acting(tx), call.ask), call.room_id)
        try:
            return self._look_until(call, interest)
        finally:
            # The answer is worth more than a tidy end: a listener that is left behind runs out by itself.
            with suppress(Unavailable):
                self.writer.run(lambda tx: attendance.end(tx, call.acting(tx), call.ask, token), call.room_id)

    def _look_until(self, call: Call, interest: Interest) -> Answer:
        """Look, and look again at every wake, until there is an answer or the time is up."""
        self.touch(call)
        started = time.monotonic()
        watch = woken = None
        try:
            while True:
                found = self.look(call, interest, woken)
                if not isinstance(found, Pending):
                    return found
                elapsed, total = time.monotonic() - started, found.wait_ms / 1000
                if elapsed >= total or interest.stopped():
                    return found.otherwise
                if watch is None:
                    # Armed only now, so look once more before the first wait: a wake in between is not lost.
                    watch = self.store.watch(call.room_id or "")
                    continue
                interest.waiting(elapsed, total)
                woken = found if watch.wait(min(found.every_ms / 1000, total - elapsed)) else None
        finally:
            if watch:
                watch.close()

    def notices(self, room_id: str, caller: Caller) -> list[str]:
        """Short signs for a member who just called about something else: unread mail, a lost reservation."""
        with self.reading() as tx:
            return signs(tx, room_id, caller)


def granted(found: Found) -> Answer | Pending[Answer]:
    """The answer, once whatever the call wrote is committed; a refusal that left something is raised only then."""
    if isinstance(found, Declined):
        raise found.refusal
    return found


def signs(tx: Tx, room_id: str, caller: Caller) -> list[str]:
    me = agents.acting(tx, room_id, caller)
    found = (capability.notice(tx, room_id, me) for capability in registry.CAPABILITIES if capability.notice)
    return [notice for notice in found if notice]
