"""The baseline of an append: the driver alone, writing the very same rows again, one transaction each, nothing else.

No checks, no hash, no queue, no wake: it is as fast as these rows can be written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, cast

import apsw

from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.envelope import GENESIS, Event

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
