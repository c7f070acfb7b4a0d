"""The hub: the store, what every transaction of it shares, and the driver that answers calls in the calling thread.

What a call does is decided in `engine`; many callers in one event loop are served by `serving`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from msgspec import structs

from tallystick.capabilities.blobs.contract import Files
from tallystick.harnesses import processes
from tallystick.hub import engine, registry
from tallystick.hub.blobs import SHARED_LIMIT, BlobFolder, NoFiles
from tallystick.hub.engine import CallRequest, CallResponse, Observe, OutsideStep, ReadStep, Signal, Step, WaitStep
from tallystick.hub.settings import STALE_MS, Settings
from tallystick.hub.visitor import Visitor
from tallystick.hub.writing import CallerLeft, Grouped
from tallystick.kernel.caller import Caller, Process, ProcessState
from tallystick.kernel.clock import Clock, system_clock
from tallystick.kernel.errors import Unavailable
from tallystick.kernel.ids import NewId, new_id
from tallystick.kernel.operation import Answer
from tallystick.ledger.tx import Tx, World
from tallystick.storage.port import Store, Watch, Write, open_store

T = TypeVar("T")
GLANCE_SECONDS = 0.001


class Interest(Protocol):
    """How a caller that blocks takes part in a long wait."""

    def stopped(self) -> bool:
        """Whether the caller will not wait any longer."""
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
        starts_runners: bool = False,
    ) -> None:
        self.store = store
        self.blobs = BlobFolder(blobs, shared_limit=SHARED_LIMIT if store.engine == "postgres" else 0)
        self.world = World(
            clock=clock,
            new_id=new_id,
            process_state=process_state,
            machine_id=machine_id or processes.machine_id(),
            stale_ms=stale_ms,
            folds=registry.folds(),
            deferred=registry.deferred(),
            offers={**registry.offers(), Files: self.blobs},
            starts_runners=starts_runners,
        )
        self._brief_world = structs.replace(self.world, brief=True, offers={**self.world.offers, Files: NoFiles()})
        self.committer = Grouped(store, self.world, self._brief_world) if grouped else None
        """Commits the writes of many callers together; without it each is a transaction of its own."""
        self.observe: Observe = lambda _operation, _outcome, _seconds: None
        """Told of every finished call, on whatever surface it came in."""

    @classmethod
    def open(cls, settings: Settings, *, grouped: bool = False, starts_runners: bool = False) -> Hub:
        store = open_store(
            settings.database_url,
            settings.data_dir,
            full_sync=settings.full_sync,
            allow_network_fs=settings.allow_network_fs,
        )
        store.migrate(registry.schema())
        return cls(
            store,
            grouped=grouped,
            blobs=settings.data_dir / "blobs",
            stale_ms=settings.agent_stale_ms,
            starts_runners=starts_runners,
        )

    def close(self) -> None:
        if self.committer:
            self.committer.close()
        self.store.close()

    @contextmanager
    def reading(self) -> Generator[Tx]:
        with self.store.read() as rows:
            yield Tx(rows, self.world, writable=False)

    def transaction(self, rows: Write) -> Tx:
        return Tx(rows, self.world, writable=True)

    def read(self, run: Callable[[Tx], T]) -> T:
        with self.reading() as tx:
            return run(tx)

    def read_at_once(self, run: Callable[[Tx], T]) -> T:
        """Read what takes no time, and nothing but the store; raises `NotBrief` where that does not do."""
        with self.store.brief(GLANCE_SECONDS) as rows:
            return run(Tx(rows, self._brief_world, writable=False))

    @contextmanager
    def writing(self) -> Generator[Tx]:
        """A transaction for work on the store as a whole, which may take long."""
        with self.store.write(unhurried=True) as rows:
            tx = Tx(rows, self.world, writable=True)
            yield tx
            tx.settle()

    def write(self, run: Callable[[Tx], T], room_id: str | None = None, also: Sequence[str] = ()) -> T:
        """Commit what this does in its room, and in the other rooms named."""
        if self.committer:
            return self.committer.run(run, room_id, also)
        with self.store.write() as rows:
            tx = Tx(rows, self.world, writable=True)
            result = run(tx)
            tx.settle()
            return result

    def call(
        self,
        name: str,
        given: Mapping[str, object],
        caller: Caller,
        interest: Interest | None = None,
        *,
        key: str | None = None,
    ) -> Answer:
        """Run an operation for a local caller. Raises a `TallyError` instead of answering; nothing is half-written."""
        visitor = Visitor(caller=caller, trusted=True)
        return self.respond(CallRequest(visitor=visitor, operation=name, given=given, key=key), interest).answer

    def respond(self, request: CallRequest, interest: Interest | None = None) -> CallResponse:
        """Carry a call out in this thread."""
        steps = engine.call(request, self.observe)
        waiting = _BlockingWait(self.store, interest or Patient())
        try:
            step = next(steps)
            while True:
                try:
                    result = self._carry_out(step, waiting)
                except BaseException as failed:  # noqa: BLE001 - it belongs to the call, which raises it again
                    step = steps.throw(failed)
                else:
                    step = steps.send(result)
        except StopIteration as done:
            return done.value
        finally:
            waiting.close()

    def _carry_out(self, step: Step, waiting: _BlockingWait) -> object:
        if isinstance(step, ReadStep):
            return self.read(step.run)
        if isinstance(step, WaitStep):
            return waiting.wait(step)
        if isinstance(step, OutsideStep):
            return step.run(self.read)
        if step.detached:
            with suppress(Unavailable):
                self.write(step.run, step.room_id, step.also)
            return None
        run = waiting.unless_left(step.run) if step.unless_left else step.run
        return self.write(run, step.room_id, step.also)

    def notices(self, room_id: str, caller: Caller) -> list[str]:
        """Short signs for a member: unread mail, a lost reservation."""
        return self.read(lambda tx: engine.signs(tx, room_id, caller))


class _BlockingWait:
    """A blocked caller's watch on the room it waits for, armed by its first wait."""

    def __init__(self, store: Store, interest: Interest) -> None:
        self._store, self._interest = store, interest
        self._watch: Watch | None = None

    def wait(self, step: WaitStep) -> Signal:
        if self._interest.stopped():
            return Signal.STOPPED
        if self._watch is None:
            self._watch = self._store.watch(step.room_id)
            return Signal.ARMED
        self._interest.waiting(step.elapsed, step.total)
        # One caller, one look now and then: whatever `until` names is found by it.
        return Signal.WOKEN if self._watch.wait(min(step.seconds, step.until.every_ms / 1000)) else Signal.TIMEOUT

    def unless_left(self, run: Callable[[Tx], T]) -> Callable[[Tx], T]:
        def checked(tx: Tx) -> T:
            if self._interest.stopped():
                raise CallerLeft
            return run(tx)

        return checked

    def close(self) -> None:
        if self._watch:
            self._watch.close()
