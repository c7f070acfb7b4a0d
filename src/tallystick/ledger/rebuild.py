"""Folding the ledger into projections again, and comparing the result with the live rows.

Leases and presence are not in the ledger and are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from tallystick.kernel import envelope
from tallystick.kernel.envelope import Event
from tallystick.kernel.errors import TooLarge
from tallystick.ledger import reading
from tallystick.ledger.tx import SQL, Tx
from tallystick.storage.sql_files import Query

Rows: TypeAlias = list[tuple[tuple[str, object], ...]]


def statement(text: str) -> Query:
    return Query(text, text, text)


def rebuild(tx: Tx, tables: Sequence[str]) -> int:
    """Empty the projection tables, the deferred ones too, and fold every event again; returns how many there were.

    What the deferred ones did not hold before, they do not hold afterwards.
    """
    locked = reading.lock_every_room(tx)
    tx.fold_anew()
    for table in tables:
        tx.run(statement(f"DELETE FROM {table}"))  # noqa: S608 - table names are our own declarations
    tx.run(SQL["reopen_all"])
    folded = 0
    for room_id in locked:
        caught_up = tx.lock(room_id).deferred_seq
        for event in reading.every_event(tx, room_id):
            tx.project(event)
            if event.seq <= caught_up and (fold := tx.world.deferred.get(event.kind)):
                fold(tx, event, event.content)
            folded += 1
    return folded


class OversizedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event whose body is out of bounds, which an older version let in."""

    room_id: str
    seq: int
    repaired: bool = False
    """Whether the projections were folded again since, by a program that survives it."""


def _place(*, seq: int) -> int:
    return seq


def oversized(tx: Tx, room_id: str, events: Iterable[Event]) -> list[OversizedEvent]:
    """Those of a room's events that are out of bounds."""
    found = [event.seq for event in events if not _in_bounds(event)]
    known = set(tx.all(SQL["repaired"], _place, room_id=room_id)) if found else set[int]()
    return [OversizedEvent(room_id=room_id, seq=seq, repaired=seq in known) for seq in found]


def _in_bounds(event: Event) -> bool:
    try:
        envelope.check_body_text(event.body)
    except TooLarge:
        return False
    return True


def repair(tx: Tx, tables: Sequence[str]) -> list[OversizedEvent]:
    """Fold everything again if there are events out of bounds, whose rows an older version wrote as they were."""
    found = [
        each
        for room_id in reading.lock_every_room(tx)
        for each in oversized(tx, room_id, reading.every_event(tx, room_id))
        if not each.repaired
    ]
    if found:
        rebuild(tx, tables)
    for each in found:
        tx.run(SQL["mark_repaired"], room_id=each.room_id, seq=each.seq, now=tx.now)
    return found


def catch_up(tx: Tx, room_id: str) -> None:
    """Bring a room's deferred projections up to its newest event."""
    while tx.catch_up(room_id):
        pass


def snapshot(tx: Tx, table: str) -> Rows:
    """A table's rows in a stable order, comparable between engines."""
    query = statement(f"SELECT * FROM {table}")  # noqa: S608 - table names are our own declarations
    return sorted(tx.all(query, _cells), key=repr)


def _cells(**row: object) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(row.items()))


def differences(live: Tx, folded: Tx, tables: Sequence[str]) -> list[str]:
    """The tables whose live rows are not what the ledger says."""
    return [table for table in tables if snapshot(live, table) != snapshot(folded, table)]


def deferred_differences(live: Tx, folded: Tx, tables: Sequence[str]) -> list[str]:
    """The same of deferred tables: the live ones lack what was not folded yet."""
    upto = {room_id: live.head(room_id).deferred_seq for room_id in reading.every_room(live)}

    def due(row: tuple[tuple[str, Any], ...]) -> bool:
        cells = dict(row)
        return cells["seq"] <= upto[cells["room_id"]]

    return [table for table in tables if snapshot(live, table) != [*filter(due, snapshot(folded, table))]]
