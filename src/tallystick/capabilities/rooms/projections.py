"""`group.*` events, folded into rooms and their scopes."""

from __future__ import annotations

import msgspec

from tallystick.capabilities.rooms.events import PolicyChanged, RoomCreated, ScopeAttached, StickClosed
from tallystick.capabilities.rooms.model import Policy
from tallystick.capabilities.rooms.queries import SQL
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx


def _policy(body: RoomCreated | PolicyChanged) -> str:
    """The whole policy; what an event does not name has its default."""
    return to_json(msgspec.convert(body.policy, Policy).data())


@fold(RoomCreated)
def created(tx: Tx, event: Event, body: RoomCreated) -> None:
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
def attached(tx: Tx, event: Event, body: ScopeAttached) -> None:
    tx.run(
        SQL["attach"],
        room_id=event.room_id,
        scope_key=event.scope_key,
        machine_id=body.machine_id,
        root=body.root,
    )


@fold(PolicyChanged)
def policy_set(tx: Tx, event: Event, body: PolicyChanged) -> None:
    tx.run(SQL["set_policy"], room_id=event.room_id, policy=_policy(body))
    tx.forget(event.room_id, "room")


@fold(StickClosed)
def closed(tx: Tx, event: Event, _body: StickClosed) -> None:
    tx.close_ledger(event.room_id)
    tx.run(SQL["close"], room_id=event.room_id, closed_at=event.ts)
    tx.forget(event.room_id, "room")
    tx.run(SQL["close_scopes"], room_id=event.room_id, closed_at=event.ts)


FOLDS = (created, attached, policy_set, closed)
