"""The hub: takes a named call from any surface and runs it in one transaction, or in as many looks as a wait needs.

It knows nothing of any capability beyond what the registry declares, and keeps a member's presence fresh on its calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, cast

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.model import Member
from tallystick.harnesses import processes
from tallystick.hub import asking, registry
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, Process, ProcessState
from tallystick.kernel.clock import Clock, system_clock
from tallystick.kernel.errors import Refused
from tallystick.kernel.ids import NewId, new_id
from tallystick.kernel.operation import Answer, Ask, Operation, Pending
from tallystick.ledger.tx import Tx, World
from tallystick.storage.open import open_store
from tallystick.storage.port import Store


class Interest(Protocol):
    """How a surface takes part in a long wait."""

    def stopped(self) -> bool:
        """Whether the caller went away."""
        ...

    def waiting(self, elapsed: float, total: float) -> None:
        """Called at every look that found nothing."""
        ...


@dataclass(frozen=True, slots=True)
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
        process_state: Callable[[Process], ProcessState] = processes.state,
        machine_id: str | None = None,
    ) -> None:
        self.store = store
        self.world = World(
            clock=clock,
            new_id=new_id,
            process_state=process_state,
            machine_id=machine_id or processes.machine_id(),
            projections=registry.projections(),
            offers=registry.offers(),
        )

    @classmethod
    def open(cls, settings: Settings) -> Hub:
        store = open_store(
            settings.database_url,
            settings.data_dir,
            full_sync=settings.full_sync,
            allow_network_fs=settings.allow_network_fs,
        )
        store.migrate(registry.schema())
        return cls(store)

    def close(self) -> None:
        self.store.close()

    @contextmanager
    def reading(self) -> Generator[Tx]:
        with self.store.read() as rows:
            yield Tx(rows, self.world, writable=False)

    @contextmanager
    def writing(self) -> Generator[Tx]:
        with self.store.write() as rows:
            yield Tx(rows, self.world, writable=True)

    def call(self, name: str, given: Mapping[str, object], caller: Caller, interest: Interest | None = None) -> Answer:
        """Run an operation for a caller. Raises a `TallyError` instead of answering; nothing is half-written."""
        operation = registry.find(name)
        ask = asking.build(operation, given)
        more = (operation.prepare(ask),) if operation.prepare else ()
        if operation.waits:
            return self._wait(operation, ask, caller, interest or Patient())
        if operation.writes:
            return self._write(operation, ask, caller, more)
        with self.reading() as tx:
            answer = cast("Answer", operation.run(tx, caller, ask, *more))
        self._touch(ask, caller)
        return answer

    def _write(self, operation: Operation, ask: Ask, caller: Caller, more: tuple[object, ...] = ()) -> Answer:
        try:
            with self.writing() as tx:
                self._enter(tx, ask, caller)
                return cast("Answer", operation.run(tx, caller, ask, *more))
        except Refused:
            # A refused call changed nothing, yet it shows that the caller is there.
            self._touch(ask, caller)
            raise

    def _wait(self, operation: Operation, ask: Ask, caller: Caller, interest: Interest) -> Answer:
        """Look, and look again at every wake, until there is an answer or the time is up. Looking writes nothing."""
        self._touch(ask, caller)
        room_id = _room(ask) or ""
        started = time.monotonic()
        watch = None
        try:
            while True:
                found = self._look(operation, ask, caller)
                if not isinstance(found, Pending):
                    return found
                elapsed, total = time.monotonic() - started, found.wait_ms / 1000
                if elapsed >= total or interest.stopped():
                    return found.otherwise
                if watch is None:
                    # Armed only now, so look once more before the first wait: a wake in between is not lost.
                    watch = self.store.watch(room_id)
                    continue
                interest.waiting(elapsed, total)
                watch.wait(min(found.every_ms / 1000, total - elapsed))
        finally:
            if watch:
                watch.close()

    def _look(self, operation: Operation, ask: Ask, caller: Caller) -> Answer | Pending[Answer]:
        with self.reading() as tx:
            found = cast("Answer | Pending[Answer]", operation.run(tx, caller, ask))
        if isinstance(found, Pending) and found.act:
            with self.writing() as tx:
                self._enter(tx, ask, caller)
                found = cast("Answer | Pending[Answer]", operation.run(tx, caller, ask))
        return found

    def _enter(self, tx: Tx, ask: Ask, caller: Caller) -> None:
        if room_id := _room(ask):
            tx.lock(room_id)
            _refresh(tx, room_id, caller)

    def _touch(self, ask: Ask, caller: Caller) -> None:
        """Refresh a member's presence after a call that did not write; most often there is nothing to do."""
        room_id = _room(ask)
        if room_id is None:
            return
        with self.reading() as tx:
            due = _due(tx, room_id, caller) is not None
        if due:
            with self.writing() as tx:
                _refresh(tx, room_id, caller)


def _due(tx: Tx, room_id: str, caller: Caller) -> Member | None:
    known = agents.member(tx, room_id, caller.agent_id)
    return known if known and agent_rules.needs_touch(known, caller, now=tx.now) else None


def _refresh(tx: Tx, room_id: str, caller: Caller) -> None:
    if known := _due(tx, room_id, caller):
        agents.touch(tx, room_id, known, caller)


def _room(ask: Ask) -> str | None:
    return cast("str | None", getattr(ask, "room_id", None))
