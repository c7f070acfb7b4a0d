"""Rooms and their scopes, read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tallystick.capabilities.rooms.model import Room, Scope
from tallystick.ledger.errors import RoomClosed, RoomNotFound
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries
from tallystick.workspace.room_paths import RoomRoots

SQL = Queries("tallystick.capabilities.rooms")


def room(tx: Tx, room_id: str) -> Room:
    found = tx.kept(room_id, ("room",), lambda: tx.one(SQL["room"], Room.of_row, room_id=room_id))
    if found is None:
        tx.head(room_id)  # an archived room says where it is
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


def roots_here(tx: Tx, room_id: str, scope_key: str = "") -> RoomRoots:
    """The room's roots on this machine; relative paths start from the scope's own, if it is one of them."""
    here = [scope for scope in scopes(tx, room_id) if scope.machine_id == tx.world.machine_id]
    roots = tuple(sorted((scope.root for scope in here), key=lambda root: (len(root), root)))
    own = next((scope.root for scope in here if scope.scope_key == scope_key), None)
    return RoomRoots(roots=roots, start=own or (roots[0] if roots else ""))


def at_roots(tx: Tx, roots: Sequence[str]) -> list[Scope]:
    """The open rooms' scopes at these roots on this machine, deepest first."""
    wanted = msgspec.json.encode(roots).decode()
    return tx.all(SQL["at_roots"], Scope, machine_id=tx.world.machine_id, roots=wanted)


def lock_root(tx: Tx, root: str) -> None:
    tx.one(SQL["lock_root"], dict, root=f"{tx.world.machine_id}:{root}")
