"""Folding the ledger into projections again, and comparing the result with the live rows.

Leases and presence are not in the ledger and are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.tx import SQL, Tx
from tallystick.storage.queries import Query

Rows: TypeAlias = list[tuple[tuple[str, object], ...]]


def _statement(text: str) -> Query:
    return Query(text, text, text)


def rebuild(tx: Tx, tables: Sequence[str]) -> int:
    """Empty the projection tables and fold every event again; returns how many there were."""
    locked = reading.lock_every_room(tx)
    tx.fold_anew()
    for table in tables:
        tx.run(_statement(f"DELETE FROM {table}"))  # noqa: S608 - table names are our own declarations
    tx.run(SQL["reopen_all"])
    folded = 0
    for room_id in locked:
        for event in tx.stream(SQL["whole"], Event, room_id=room_id):
            tx.project(event)
            folded += 1
    return folded


def snapshot(tx: Tx, table: str) -> Rows:
    """A table's rows in a stable order, comparable between engines."""
    query = _statement(f"SELECT * FROM {table}")  # noqa: S608 - table names are our own declarations
    return sorted(tx.all(query, _cells), key=repr)


def _cells(**row: object) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(row.items()))


def differences(live: Tx, folded: Tx, tables: Sequence[str]) -> list[str]:
    """The tables whose live rows are not what the ledger says."""
    return [table for table in tables if snapshot(live, table) != snapshot(folded, table)]
