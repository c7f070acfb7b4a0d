"""Appends through the hub, one after the other and by sixteen at once, against the driver writing the same rows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias, cast

import apsw

from tallybench import rooms
from tallybench.callers import Callers, callers
from tallybench.engines import Setting
from tallybench.report import Budget, Figure, median
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import GENESIS, Event
from tallystick.ledger import reading

OPEN = "INSERT INTO heads (room_id, seq, hash, ts) VALUES (?, 0, ?, 0)"
INSERT = (
    "INSERT INTO events (room_id, seq, id, ts, kind, scope_key, author, body, prev_hash, hash, v)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADVANCE = "UPDATE heads SET seq = ?, hash = ?, ts = ? WHERE room_id = ?"

_Execute: TypeAlias = Callable[..., object]


class Bare(Protocol):
    def write(self, events: Sequence[Event]) -> float:
        """Write each event in its own transaction; the result is the seconds it took."""
        ...

    def close(self) -> None: ...


def bare_store(settings: Settings, room_id: str) -> Bare:
    """An empty ledger of that room in a store with our schema and settings, opened by the driver alone."""
    Hub.open(settings).close()
    if settings.database_url:
        return _Postgres(settings.database_url, room_id)
    return _Sqlite(settings, room_id)


class _Sqlite:
    def __init__(self, settings: Settings, room_id: str) -> None:
        self._connection = apsw.Connection(str(settings.data_dir / "tally.sqlite"))
        # The driver's own annotations are incomplete.
        self._execute = cast("_Execute", self._connection.cursor().execute)
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            self._execute(f"PRAGMA {pragma}")
        self._execute(OPEN, (room_id, GENESIS))

    def write(self, events: Sequence[Event]) -> float:
        rows = [(_row(event), _place(event)) for event in events]
        execute = self._execute
        started = time.perf_counter()
        for row, place in rows:
            execute("BEGIN IMMEDIATE")
            execute(INSERT, row)
            execute(ADVANCE, place)
            execute("COMMIT")
        return time.perf_counter() - started

    def close(self) -> None:
        self._connection.close()


class _Postgres:
    def __init__(self, url: str, room_id: str) -> None:
        import psycopg

        self._connection = psycopg.connect(url, options="-c search_path=tallystick")
        self._connection.execute(OPEN.replace("?", "%s"), (room_id, GENESIS))
        self._connection.commit()

    def write(self, events: Sequence[Event]) -> float:
        rows = [(_row(event), _place(event)) for event in events]
        insert, advance = INSERT.replace("?", "%s"), ADVANCE.replace("?", "%s")
        cursor = self._connection.cursor()
        started = time.perf_counter()
        for row, place in rows:
            cursor.execute(insert, row, prepare=True)
            cursor.execute(advance, place, prepare=True)
            self._connection.commit()
        return time.perf_counter() - started

    def close(self) -> None:
        self._connection.close()


def _row(event: Event) -> tuple[str | int, ...]:
    return (
        event.room_id,
        event.seq,
        event.id,
        event.ts,
        event.kind,
        event.scope_key,
        event.by,
        event.body,
        event.prev_hash,
        event.hash,
        event.v,
    )


def _place(event: Event) -> tuple[str | int, ...]:
    return (event.seq, event.hash, event.ts, event.room_id)


HANDS = 16


def measure(setting: Setting) -> Iterator[Figure]:
    settings = setting.engine.fresh()
    room_id = rooms.make_room(settings, "append")
    with rooms.opened(settings) as hub:
        me = rooms.enter(hub, room_id, "writer")
        yield _figure(setting, hub, room_id, lambda count: _append(hub, me, room_id, count), "one after the other")
    with callers(settings, room_id) as many:
        yield _figure(setting, many.hub, room_id, lambda count: many.run(_together(many, count)), f"{HANDS} at once")


def _figure(setting: Setting, hub: Hub, room_id: str, append: Callable[[int], float], how: str) -> Figure:
    # Short rounds, so that the machine is as fast for the one as for the other.
    rounds, count = setting.pick(45, 2), setting.pick(400, 48)
    ours, baseline = list[float](), list[float]()
    bare = bare_store(setting.engine.fresh(), room_id)
    try:
        append(count)
        for number in range(1, rounds + 1):
            setting.tell(f"append, {how}: round {number} of {rounds}")
            with hub.reading() as tx:
                before = tx.head(room_id).seq
            ours.append(count / append(count))
            with hub.reading() as tx:
                events = reading.since(tx, room_id, before, limit=count)
            baseline.append(count / bare.write(events))
    finally:
        bare.close()
    return Figure(
        bench="append",
        what=f"events.append through the hub, {how}",
        engine=setting.engine.name,
        unit="per s",
        ours=median(ours),
        baseline=median(baseline),
        against="the driver writing the same rows",
        ratio=median([mine / theirs for mine, theirs in zip(ours, baseline, strict=True)]),
        budgets=(Budget(of="ratio", bound="at least", limit=0.5),),
    )


async def _together(many: Callers, count: int) -> float:
    given = rooms.report(many.room_id)

    async def hand() -> None:
        for _ in range(count // HANDS):
            await many.call("events.append", **given)

    started = time.perf_counter()
    await asyncio.gather(*(hand() for _ in range(HANDS)))
    return time.perf_counter() - started


def _append(hub: Hub, me: Caller, room_id: str, count: int) -> float:
    given = rooms.report(room_id)
    started = time.perf_counter()
    for _ in range(count):
        hub.call("events.append", given, me)
    return time.perf_counter() - started
