"""One transaction as operations see it: typed queries, the time, new ids, the room lock and appending events.

Not a unit of work with dirty tracking: state changes by appending events, and the projections registered for a kind
turn each event into rows inside the same transaction. Only leases and presence are written without an event.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import msgspec

from tallystick.kernel import envelope
from tallystick.kernel.caller import Process, ProcessState
from tallystick.kernel.clock import Clock, Instant
from tallystick.kernel.envelope import GENESIS, Body, Draft, Event, may_be_deep, tasks_of, to_json, with_field
from tallystick.kernel.errors import InternalFault
from tallystick.kernel.ids import NewId
from tallystick.ledger.cache import ROWS_REMEMBERED, RoomCache, RoomCaches, Rows
from tallystick.ledger.errors import CursorGone, RoomClosed, RoomNotFound
from tallystick.storage.port import NotBrief
from tallystick.storage.sql_files import Queries, Query

if TYPE_CHECKING:
    from tallystick.storage.port import Read, Value, Write

T = TypeVar("T")
SQL = Queries("tallystick.ledger")
BACKLOG = 5_000
"""So many events may wait for the deferred projections; a write beyond that folds the oldest itself."""
STEP = 200
"""How many of them are folded at once: some 10 ms for a room's other writers to wait."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Where a room's ledger ends, and whether it takes more events."""

    seq: int
    hash: str
    ts: Instant
    closed: int = 0
    adopted: int = 0
    """Some session acts here under the name of an agent it adopted."""
    deferred_seq: int = 0
    """The deferred projections hold what was said up to here."""
    archive: str = ""
    """The hash of the file that holds the room's events, where the store no longer does."""


class LockedRoom:
    """What is known of a room that a transaction has locked: nobody else can change it before the end."""

    __slots__ = ("cache", "head", "moved", "rows")

    def __init__(self, head: Head, cache: RoomCache) -> None:
        self.head, self.cache, self.rows = head, cache, cache.take(head.hash)
        self.moved = False
        """Whether its head is yet to be written: once, when the transaction ends."""


class Held:
    """What the calls that share a transaction have in common."""

    __slots__ = ("heads", "live", "rooms")

    def __init__(self) -> None:
        self.rooms: dict[str, LockedRoom] = {}
        self.heads: dict[str, Head] = {}
        """Of rooms that were read: a transaction that only reads is one snapshot."""
        self.live: dict[str, Rows] = {}


class Tx:
    __slots__ = ("_held", "_processes", "_rooms", "_rows", "_speaker", "appended", "now", "world", "writable", "wrote")

    def __init__(self, rows: Read, world: World, *, writable: bool, held: Held | None = None) -> None:
        self.world = world
        self.now: Instant = world.clock()
        self.writable = writable
        self.wrote = self.appended = False
        """Whether this call has changed anything, and whether it has written an event."""
        self._rows = rows
        self._speaker: tuple[str, str] | None = None
        self._processes: dict[Process, ProcessState] = {}
        self._held = held or Held()
        self._rooms = self._held.rooms

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

    def cache(self, room_id: str) -> RoomCache:
        """What this process remembers of a room beyond this transaction."""
        room = self._rooms.get(room_id)
        return room.cache if room else self.world.caches.of(room_id)

    def folded(self, room_id: str) -> Rows:
        """Rows of a locked room that were read or folded, kept by whoever folds them (see `cache`)."""
        self.lock(room_id)
        return self._rooms[room_id].rows

    def remember(self, room_id: str, key: tuple[object, ...], row: object) -> None:
        """Keep a row that was just read or written under the room's lock: it need not be read again."""
        rows = self.folded(room_id)
        if len(rows) >= ROWS_REMEMBERED:
            rows.clear()
        rows[key] = row

    def kept(self, room_id: str, key: tuple[object, ...], read: Callable[[], T]) -> T:
        """What follows from a room's events: remembered if this transaction has locked the room, else read."""
        room = self._rooms.get(room_id)
        if room is None or not self.writable:
            return read()
        if key not in room.rows:
            self.remember(room_id, key, read())
        return cast("T", room.rows[key])

    def forget(self, room_id: str, *key: object) -> None:
        """A row that may be remembered has changed."""
        if room := self._rooms.get(room_id):
            room.rows.pop(key, None)

    def live(self, room_id: str) -> Rows:
        """Rows that others may change without an event: true until this transaction ends."""
        return self._held.live.setdefault(room_id, {})

    def fold_anew(self) -> None:
        """Forget all that was folded; for whoever empties the tables."""
        self.world.caches.clear()
        for room in self._rooms.values():
            room.rows.clear()

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
        return self.world.offers[port]

    def head(self, room_id: str) -> Head:
        """Where the room's ledger ends; refuses an unknown room."""
        if room := self._rooms.get(room_id):
            return room.head
        if not self.writable and (read := self._held.heads.get(room_id)):
            return read
        head = self._known(room_id, self.one(SQL["head"], Head, room_id=room_id))
        if not self.writable:
            self._held.heads[room_id] = head
        return head

    def lock(self, room_id: str) -> Head:
        """Become the room's only writer until this transaction ends."""
        if room := self._rooms.get(room_id):
            return room.head
        first = not self._rooms
        head = self._known(room_id, self.one(SQL["lock"], Head, room_id=room_id))
        self._hold(room_id, head)
        if first:
            # Others may have had the room for seconds: a lease that begins now must not begin when we queued.
            self.now = self.world.clock()
        return head

    def try_lock(self, room_id: str) -> None:
        """Lock a room that may not exist."""
        if room_id not in self._rooms and (head := self.one(SQL["lock"], Head, room_id=room_id)) and not head.archive:
            self._hold(room_id, head)

    def _hold(self, room_id: str, head: Head) -> None:
        self._rooms[room_id] = LockedRoom(head, self.world.caches.of(room_id))

    def holds(self, room_id: str) -> bool:
        """Whether this transaction is the room's only writer."""
        return self.writable and room_id in self._rooms

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
        if room := self._rooms.get(room_id):
            room.head = msgspec.structs.replace(room.head, **flags)

    def is_adopted(self, room_id: str) -> bool:
        """Whether anybody in a room that this transaction writes to acts for an agent it adopted."""
        room = self._rooms.get(room_id)
        return room is None or room.head.adopted == 1

    def check_open(self, room_id: str) -> None:
        """Refuse a room that was closed; free of charge, since every writer has read the head."""
        if self.lock(room_id).closed:
            raise RoomClosed(room_id=room_id)

    def speaks_for(self, agent_id: str, own_id: str) -> None:
        """What this call writes as an agent is signed by the caller's own id, with that agent beside it."""
        self._speaker = (agent_id, own_id)

    def append(self, room_id: str, by: str, drafts: Iterable[Draft]) -> list[Event]:
        """Write events at the room's end, in order, and fold each into its projections."""
        room = self._rooms.get(room_id)
        if room is None:
            raise InternalFault("A room must be locked before it is appended to.")
        return [self._append(room_id, room, by, draft) for draft in drafts]

    def _append(self, room_id: str, room: LockedRoom, by: str, draft: Draft) -> Event:
        head = room.head
        body = draft.body or to_json(draft.data)
        if self._speaker and by == self._speaker[0]:
            acting_for, by = self._speaker
            body = with_field(body, "acting_for", acting_for)
        # Here and not in the operations, so that no kind is forgotten; most bodies need no closer look.
        if len(body) > envelope.BODY_LIMIT or may_be_deep(body):
            envelope.check_body_text(body)
        event = Event.sealed(
            room_id=room_id,
            seq=head.seq + 1,
            id=self.new_id(),
            # A clock that was set back must not put an event before its predecessor.
            ts=max(self.now, head.ts),
            kind=draft.kind,
            scope_key=draft.scope_key,
            by=by,
            body=body,
            prev_hash=head.hash,
        )
        if isinstance(draft.data, Body):
            event.remember(draft.data)
        self.place(event)
        return event

    def place(self, event: Event) -> None:
        """Store a sealed event as the newest of its room, which is locked: one just decided, or one being imported."""
        room_id, seq, seal, ts = event.room_id, event.seq, event.hash, event.ts
        self.store(event)
        self.appended = True
        room = self._rooms[room_id]
        head = room.head
        room.head = Head(
            seq=seq, hash=seal, ts=ts, closed=head.closed, adopted=head.adopted, deferred_seq=head.deferred_seq
        )
        room.moved = True
        self.project(event)
        self._write.wake(room_id)

    def store(self, event: Event) -> None:
        """Write an event's row and nothing else, for whoever folds it later."""
        self._write.run(
            SQL["append"],
            room_id=event.room_id,
            seq=event.seq,
            id=event.id,
            ts=event.ts,
            kind=event.kind,
            scope_key=event.scope_key,
            by=event.by,
            body=event.body,
            prev_hash=event.prev_hash,
            hash=event.hash,
            v=event.v,
        )

    def settle(self) -> None:
        """Write down where the rooms' ledgers end now; whoever opened the transaction does this last."""
        for room_id, room in self._rooms.items():
            if room.moved:
                head = room.head
                self._write.run(SQL["advance"], room_id=room_id, seq=head.seq, hash=head.hash, ts=head.ts)
                room.moved = False
                while room.head.seq - room.head.deferred_seq >= BACKLOG:
                    if self.world.brief:
                        raise NotBrief
                    self.catch_up(room_id)
            room.cache.put(room.head.hash, room.rows)

    def project(self, event: Event) -> None:
        """Fold an event into rows: what its kind's capabilities keep of it, and the tasks that it names."""
        if folds := self.world.folds.get(event.kind):
            content = event.content
            for fold in folds:
                fold(self, event, content)
        body = event.body
        # Most events name no task, and their text says so before it is decoded.
        if '"task_id"' in body or '"task"' in body or '"bead_id"' in body:
            for task_id in tasks_of(event.data):
                self.mention(event, task_id)

    def mention(self, event: Event, task_id: str) -> None:
        """Put an event down as about a task, so that its history is found in a ledger of any length."""
        self.run(SQL["mention"], room_id=event.room_id, task_id=task_id, seq=event.seq)

    def catch_up(self, room_id: str) -> bool:
        """Fold some events that the deferred projections have not seen; whether there may be more of them."""
        head, deferred = self.lock(room_id), self.world.deferred
        waiting = self._waiting(room_id, head.deferred_seq)
        for event in waiting:
            deferred[event.kind](self, event, event.content)
        done = waiting[-1].seq if len(waiting) == STEP else head.seq
        self.run(SQL["caught_up"], room_id=room_id, seq=done)
        self._mark(room_id, deferred_seq=done)
        return done < head.seq

    def _waiting(self, room_id: str, after: int) -> list[Event]:
        """The oldest events of the deferred kinds after a seq; each kind is found through its index."""
        query = SQL["since_of_kind"]
        runs = [
            self.all(query, Event, room_id=room_id, kind=kind, seq=after, limit=STEP) for kind in self.world.deferred
        ]
        return list(heapq.merge(*runs, key=lambda event: event.seq))[:STEP]

    @property
    def _write(self) -> Write:
        if not self.writable:
            raise InternalFault("This operation is declared as a read and tried to write.")
        self.wrote = True
        return cast("Write", self._rows)

    def _known(self, room_id: str, head: Head | None) -> Head:
        if head is None:
            raise RoomNotFound(f"There is no room '{room_id[:80]}'.", room_id=room_id)
        if head.archive:
            told = f"This room was archived: its events are in the file with the SHA-256 {head.archive}."
            raise CursorGone(told, room_id=room_id, archive_sha256=head.archive)
        return head


Fold: TypeAlias = "Callable[[Tx, Event, Any], None]"
"""Turns an event into rows; the third argument is its body, as the struct of its kind."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for every transaction of one hub; tests bind their own clock or process probe here."""

    clock: Clock
    new_id: NewId
    process_state: Callable[[Process], ProcessState]
    machine_id: str
    stale_ms: int
    """How long an agent may stay silent before it is stale; evicted after twice as long."""
    folds: Mapping[str, Sequence[Fold]]
    """Event kind -> what turns such an event into rows, in the order of the capabilities."""
    offers: Mapping[type, Any]
    deferred: Mapping[str, Fold]
    """Folds that run some time after their event was written (see `Tx.catch_up`)."""
    starts_runners: bool = False
    """Whether this hub itself starts a runner where jobs wait and none is there."""
    brief: bool = False
    """Whether nothing may take long here: what does is begun by nobody and left to a transaction that has time."""
    caches: RoomCaches = msgspec.field(default_factory=RoomCaches)
