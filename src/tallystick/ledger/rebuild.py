"""Folding the ledger into projections again, and comparing the result with the live rows.

Leases and presence are not in the ledger and are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.tx import SQL, Tx
from tallystick.storage.queries import Query

Rows: TypeAlias = list[tuple[tuple[str, object], ...]]


def _statement(text: str) -> Query:
    return Query(text, text, text)


def rebuild(tx: Tx, tables: Sequence[str]) -> int:
    """Empty the projection tables, the deferred ones too, and fold every event again; returns how many there were.

    What the deferred ones did not hold before, they do not hold afterwards.
    """
    locked = reading.lock_every_room(tx)
    tx.fold_anew()
    for table in tables:
        tx.run(_statement(f"DELETE FROM {table}"))  # noqa: S608 - table names are our own declarations
    tx.run(SQL["reopen_all"])
    folded = 0
    for room_id in locked:
        caught_up = tx.lock(room_id).deferred_seq
        for event in tx.stream(SQL["whole"], Event, room_id=room_id):
            tx.project(event)
            if event.seq <= caught_up and (fold := tx.world.deferred.get(event.kind)):
                fold(tx, event, event.content)
            folded += 1
    return folded


def catch_up(tx: Tx, room_id: str) -> None:
    """Bring a room's deferred projections up to its newest event."""
    while tx.catch_up(room_id):
        pass


def snapshot(tx: Tx, table: str) -> Rows:
    """A table's rows in a stable order, comparable between engines."""
    query = _statement(f"SELECT * FROM {table}")  # noqa: S608 - table names are our own declarations
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
