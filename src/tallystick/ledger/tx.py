"""One transaction as operations see it: typed queries, the time, new ids, the room lock and appending events.

Not a unit of work with dirty tracking: state changes by appending events, and the projections registered for a kind
turn each event into rows inside the same transaction. Only leases and presence are written without an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import msgspec

from tallystick.kernel.caller import Caller, Process, ProcessState
from tallystick.kernel.clock import Clock, Instant
from tallystick.kernel.envelope import GENESIS, Draft, Event, to_json
from tallystick.kernel.errors import InternalFault
from tallystick.kernel.ids import NewId
from tallystick.ledger.errors import RoomClosed, RoomNotFound
from tallystick.storage.queries import Queries, Query

if TYPE_CHECKING:
    from tallystick.storage.port import Read, Value, Write

T = TypeVar("T")
SQL = Queries("tallystick.ledger")
ROOMS_REMEMBERED = 20
ROWS_REMEMBERED = 1000
"""Of each; a rebuild folds a whole store in one transaction."""
HEADS_REMEMBERED = 1000
ANY_KIND = "*"
"""Where the folds of kinds that no capability knows are kept; what stands there is folded for every other kind too."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Where a room's ledger ends, and whether it takes more events."""

    seq: int
    hash: str
    ts: Instant
    closed: int = 0
    adopted: int = 0
    """Some session acts here under the name of an agent it adopted."""


Rows: TypeAlias = "dict[tuple[object, ...], object]"


class Held:
    """What is known of the rooms that a transaction has locked: nobody else can change it before the end."""

    __slots__ = ("folded", "heads", "memo", "moved")

    def __init__(self) -> None:
        self.heads: dict[str, Head] = {}
        self.folded: dict[str, Rows] = {}
        self.moved: set[str] = set()
        """Rooms whose head is yet to be written: once, when the transaction ends."""
        self.memo: Rows = {}
        """What was read of live state and need not be read again before the end."""


class Tx:
    __slots__ = (
        *("_heads", "_held", "_kept", "_processes", "_rows"),
        *("appended", "memo", "now", "world", "writable", "wrote"),
    )

    def __init__(self, rows: Read, world: World, *, writable: bool, held: Held | None = None) -> None:
        self.world = world
        self.now: Instant = world.clock()
        self.writable = writable
        self.wrote = self.appended = False
        """Whether this call has changed anything, and whether it has written an event."""
        self._rows = rows
        self._processes: dict[Process, ProcessState] = {}
        self._held = held or Held()
        self._heads, self.memo = self._held.heads, self._held.memo
        self._kept = cast("dict[str, Head]", cast("Write", rows).memory if writable else {})
        """Heads that the last write of this process left, where nobody else has written since."""

    def next(self) -> Tx:
        """The same transaction for another call."""
        return Tx(self._rows, self.world, writable=self.writable, held=self._held)

    def one(self, query: Query, into: Callable[..., T], /, **values: Value) -> T | None:
        return self._rows.one(query, into, **values)

    def all(self, query: Query, into: Callable[..., T], /, **values: Value) -> list[T]:
        return self._rows.all(query, into, **values)

    def stream(self, query: Query, into: Callable[..., T], /, **values: Value) -> Iterator[T]:
        return self._rows.stream(query, into, **values)

    def run(self, query: Query, /, **values: Value) -> None:
        self._write.run(query, **values)

    def folded(self, room_id: str) -> Rows:
        """Rows of a locked room that were read or folded, kept by whoever folds them.

        They follow from the events alone, so they stay true beyond this transaction, until somebody else adds one.
        """
        self.lock(room_id)
        return self._held.folded.setdefault(room_id, {})

    def remember(self, room_id: str, key: tuple[object, ...], row: object) -> None:
        """Keep a row that was just read or written under the room's lock: it need not be read again."""
        rows = self.folded(room_id)
        if len(rows) >= ROWS_REMEMBERED:
            rows.clear()
        rows[key] = row

    def fold_anew(self) -> None:
        """Forget all that was folded; for whoever empties the tables."""
        self.world.folded.clear()
        self._held.folded.clear()
        self._kept.clear()

    def new_id(self) -> str:
        return self.world.new_id()

    def process_state(self, process: Process | None) -> ProcessState:
        """What can be seen of a process; looked at once, so that everything decided in here sees the same."""
        if process is None:
            return ProcessState.UNKNOWN
        if process not in self._processes:
            self._processes[process] = self.world.process_state(process)
        return self._processes[process]

    def use(self, port: type[T]) -> T:
        """What another capability offers under a Protocol; the hub binds them."""
        return cast("T", self.world.offers[port])

    def head(self, room_id: str) -> Head:
        """Where the room's ledger ends; refuses an unknown room."""
        return self._heads.get(room_id) or self._known(room_id, self.one(SQL["head"], Head, room_id=room_id))

    def lock(self, room_id: str) -> Head:
        """Become the room's only writer until this transaction ends."""
        if room_id not in self._heads:
            first = not self._heads
            self._hold(room_id, self._known(room_id, self._locked(room_id)))
            if first:
                # Others may have had the room for seconds: a lease that begins now must not begin when we queued.
                self.now = self.world.clock()
        return self._heads[room_id]

    def try_lock(self, room_id: str) -> None:
        """Lock a room that may not exist."""
        if room_id not in self._heads and (head := self._locked(room_id)):
            self._hold(room_id, head)

    def _locked(self, room_id: str) -> Head | None:
        return self._kept.get(room_id) or self.one(SQL["lock"], Head, room_id=room_id)

    def _hold(self, room_id: str, head: Head) -> None:
        self._heads[room_id] = head
        # Taken away, not shared: when this transaction fails, what it folds is forgotten with it.
        seal, rows = self.world.folded.pop(room_id, ("", {}))
        if seal == head.hash:
            self._held.folded[room_id] = rows

    def holds(self, room_id: str) -> bool:
        """Whether this transaction is the room's only writer."""
        return self.writable and room_id in self._heads

    def open_ledger(self, room_id: str) -> None:
        self.run(SQL["open"], room_id=room_id, hash=GENESIS)
        self._hold(room_id, Head(seq=0, hash=GENESIS, ts=0))

    def close_ledger(self, room_id: str) -> None:
        """From now on, `check_open` refuses this room."""
        self.run(SQL["close"], room_id=room_id)
        self._mark(room_id, closed=1)

    def mark_adopted(self, room_id: str) -> None:
        """From now on, writers in this room look up whom they act for."""
        self.run(SQL["mark_adopted"], room_id=room_id)
        self._mark(room_id, adopted=1)

    def _mark(self, room_id: str, **flags: int) -> None:
        self._kept.pop(room_id, None)
        if head := self._heads.get(room_id):
            self._heads[room_id] = msgspec.structs.replace(head, **flags)

    def is_adopted(self, room_id: str) -> bool:
        """Whether anybody in a room that this transaction writes to acts for an agent it adopted."""
        return room_id not in self._heads or self._heads[room_id].adopted == 1

    def check_open(self, room_id: str) -> None:
        """Refuse a room that was closed; free of charge, since every writer has read the head."""
        if self.lock(room_id).closed:
            raise RoomClosed(room_id=room_id)

    def append(self, room_id: str, by: str, drafts: Iterable[Draft]) -> list[Event]:
        """Write events at the room's end, in order, and fold each into its projections."""
        if room_id not in self._heads:
            raise InternalFault("A room must be locked before it is appended to.")
        return [self._append(room_id, by, draft) for draft in drafts]

    def _append(self, room_id: str, by: str, draft: Draft) -> Event:
        head = self._heads[room_id]
        event = Event.sealed(
            room_id=room_id,
            seq=head.seq + 1,
            id=self.new_id(),
            # A clock that was set back must not put an event before its predecessor.
            ts=max(self.now, head.ts),
            kind=draft.kind,
            scope_key=draft.scope_key,
            by=by,
            body=draft.body or to_json(draft.data),
            prev_hash=head.hash,
        )
        self.place(event)
        return event

    def place(self, event: Event) -> None:
        """Store a sealed event as its room's newest: one just decided, or one being imported."""
        room_id, seq, seal, ts = event.room_id, event.seq, event.hash, event.ts
        rows = self._write
        rows.run(
            SQL["append"],
            room_id=room_id,
            seq=seq,
            id=event.id,
            ts=ts,
            kind=event.kind,
            scope_key=event.scope_key,
            by=event.by,
            body=event.body,
            prev_hash=event.prev_hash,
            hash=seal,
            v=event.v,
        )
        self._held.moved.add(room_id)
        self.appended = True
        before = self._heads.get(room_id)
        self._heads[room_id] = (
            msgspec.structs.replace(before, seq=seq, hash=seal, ts=ts) if before else Head(seq=seq, hash=seal, ts=ts)
        )
        self.project(event)
        rows.wake(room_id)

    def settle(self) -> None:
        """Write down where the rooms' ledgers end now; whoever opened the transaction does this last."""
        for room_id in self._held.moved:
            head = self._heads[room_id]
            self._write.run(SQL["advance"], room_id=room_id, seq=head.seq, hash=head.hash, ts=head.ts)
        self._held.moved.clear()
        if len(self._kept) > HEADS_REMEMBERED:
            self._kept.clear()
        self._kept.update(self._heads)
        folded = self.world.folded
        for room_id, rows in self._held.folded.items():
            # Should the commit fail, no head will ever have this hash.
            if rows:
                folded[room_id] = (self._heads[room_id].hash, rows)
        while len(folded) > ROOMS_REMEMBERED:
            # Whoever locks a room takes its rows and puts them back at the end, so the first is the longest unused.
            folded.pop(next(iter(folded)), None)

    def project(self, event: Event) -> None:
        folds = self.world.projections
        for fold in folds.get(event.kind) or folds.get(ANY_KIND, ()):
            fold(self, event)

    @property
    def _write(self) -> Write:
        if not self.writable:
            raise InternalFault("This operation is declared as a read and tried to write.")
        self.wrote = True
        return cast("Write", self._rows)

    def _known(self, room_id: str, head: Head | None) -> Head:
        if head is None:
            raise RoomNotFound(f"There is no room '{room_id[:80]}'.", room_id=room_id)
        return head


Projection: TypeAlias = "Callable[[Tx, Event], None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What is the same for every transaction of one hub; tests bind their own clock or process probe here."""

    clock: Clock
    new_id: NewId
    process_state: Callable[[Process], ProcessState]
    machine_id: str
    stale_ms: int
    """How long an agent may stay silent before it is stale; evicted after twice as long."""
    projections: Mapping[str, Sequence[Projection]]
    offers: Mapping[type, object]
    last_seen: dict[tuple[str, Caller], Instant] = field(default_factory=dict[tuple[str, Caller], Instant])
    """When a caller was last seen in a room, as the store said; it spares most calls a look at it."""
    folded: dict[str, tuple[str, Rows]] = field(default_factory=dict[str, "tuple[str, Rows]"])
    """Rows of rooms as they were folded up to the event with this hash (see `Tx.folded`)."""
    last_progress: dict[tuple[str, str], Instant] = field(default_factory=dict[tuple[str, str], Instant])
    """When an agent's progress in a room was last written down."""
