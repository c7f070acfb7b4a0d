"""Rooms and their scopes, read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tallystick.capabilities.rooms.model import Room, Scope
from tallystick.ledger.errors import RoomClosed, RoomNotFound
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.capabilities.rooms")


def room(tx: Tx, room_id: str) -> Room:
    found = tx.kept(room_id, ("room",), lambda: tx.one(SQL["room"], Room.of_row, room_id=room_id))
    if found is None:
        raise RoomNotFound(f"There is no room '{room_id[:80]}'.", room_id=room_id)
    return found


def open_room(tx: Tx, room_id: str) -> Room:
    """The room, unless it was closed."""
    found = room(tx, room_id)
    if found.closed_at is not None:
        raise RoomClosed(room_id=room_id)
    return found


def every_room(tx: Tx, limit: int) -> list[Room]:
    return tx.all(SQL["every_room"], Room.of_row, limit=limit)


def scopes(tx: Tx, room_id: str) -> list[Scope]:
    return tx.all(SQL["scopes"], Scope, room_id=room_id)


def at_roots(tx: Tx, roots: Sequence[str]) -> list[Scope]:
    """The open rooms' scopes at these roots on this machine, deepest first."""
    wanted = msgspec.json.encode(roots).decode()
    return tx.all(SQL["at_roots"], Scope, machine_id=tx.world.machine_id, roots=wanted)


def lock_root(tx: Tx, root: str) -> None:
    tx.one(SQL["lock_root"], dict, root=f"{tx.world.machine_id}:{root}")
