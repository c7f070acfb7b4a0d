"""`group.*` events, folded into rooms and their scopes."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.rooms.model import Policy
from tallystick.capabilities.rooms.queries import SQL
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger.tx import Projection, Tx


def _policy(event: Event) -> str:
    """The whole policy; what an event does not name has its default."""
    return to_json(Policy.read(to_json(cast("dict[str, int]", event.data["policy"]))).data())


def created(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["create"],
        room_id=event.room_id,
        title=cast("str", event.data["title"]),
        canonical_path=cast("str", event.data["canonical_path"]),
        policy=_policy(event),
        created_at=event.ts,
        created_by=event.by,
    )
    tx.forget(event.room_id, "room")


def attached(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["attach"],
        room_id=event.room_id,
        scope_key=event.scope_key,
        machine_id=cast("str", event.data["machine_id"]),
        root=cast("str", event.data["root"]),
    )


def policy_set(tx: Tx, event: Event) -> None:
    tx.run(SQL["set_policy"], room_id=event.room_id, policy=_policy(event))
    tx.forget(event.room_id, "room")


def closed(tx: Tx, event: Event) -> None:
    tx.close_ledger(event.room_id)
    tx.run(SQL["close"], room_id=event.room_id, closed_at=event.ts)
    tx.forget(event.room_id, "room")
    tx.run(SQL["close_scopes"], room_id=event.room_id, closed_at=event.ts)


PROJECTIONS: dict[str, Projection] = {
    "group.create": created,
    "group.attach": attached,
    "group.set_policy": policy_set,
    "x.tally.stick.close": closed,
}
