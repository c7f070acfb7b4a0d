"""Rooms and their scopes, read, and `group.*` events folded into them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tallystick.capabilities.rooms.events import PolicyChanged, RoomCreated, ScopeAttached, StickClosed
from tallystick.capabilities.rooms.model import Policy, Room, Scope
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger.capability import fold
from tallystick.ledger.errors import RoomClosed, RoomNotFound
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries
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


def _policy(body: RoomCreated | PolicyChanged) -> str:
    """The whole policy; what an event does not name has its default."""
    return to_json(msgspec.convert(body.policy, Policy).data())


@fold(RoomCreated)
def _created(tx: Tx, event: Event, body: RoomCreated) -> None:
    tx.run(
        SQL["create"],
        room_id=event.room_id,
        title=body.title,
        canonical_path=body.canonical_path,
        policy=_policy(body),
        created_at=event.ts,
        created_by=event.by,
    )
    tx.forget(event.room_id, "room")


@fold(ScopeAttached)
def _attached(tx: Tx, event: Event, body: ScopeAttached) -> None:
    tx.run(
        SQL["attach"],
        room_id=event.room_id,
        scope_key=event.scope_key,
        machine_id=body.machine_id,
        root=body.root,
    )


@fold(PolicyChanged)
def _policy_set(tx: Tx, event: Event, body: PolicyChanged) -> None:
    tx.run(SQL["set_policy"], room_id=event.room_id, policy=_policy(body))
    tx.forget(event.room_id, "room")


@fold(StickClosed)
def _closed(tx: Tx, event: Event, _body: StickClosed) -> None:
    tx.close_ledger(event.room_id)
    tx.run(SQL["close"], room_id=event.room_id, closed_at=event.ts)
    tx.forget(event.room_id, "room")
    tx.run(SQL["close_scopes"], room_id=event.room_id, closed_at=event.ts)


FOLDS = (_created, _attached, _policy_set, _closed)
