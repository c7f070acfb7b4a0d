"""`x.tally.stick.*` events, folded into who owns a room's stick."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.turns.model import Kind
from tallystick.capabilities.turns.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger.tx import Projection, Tx


def created(tx: Tx, event: Event) -> None:
    tx.run(SQL["create"], room_id=event.room_id, ts=event.ts)


def granted(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["grant"],
        room_id=event.room_id,
        turn_id=cast("int", event.data["turn_id"]),
        owner=cast("str", event.data["to_agent_id"]),
        received_seq=cast("int | None", event.data.get("handoff_seq")),
        ts=event.ts,
    )


def handed_over(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["hand_over"],
        room_id=event.room_id,
        reserved_for=cast("str | None", event.data["reserved_for"]),
        pending_seq=event.seq,
        ts=event.ts,
    )


def left(tx: Tx, event: Event) -> None:
    tx.run(SQL["unreserve"], room_id=event.room_id, agent_id=cast("str", event.data["actor_id"]), ts=event.ts)


def closed(tx: Tx, event: Event) -> None:
    tx.run(SQL["close"], room_id=event.room_id, ts=event.ts)


PROJECTIONS: dict[str, Projection] = {
    "group.create": created,
    Kind.CLAIM: granted,
    Kind.TAKEOVER: granted,
    Kind.RELEASE: handed_over,
    Kind.PASS: handed_over,
    Kind.CLOSE: closed,
    "actor.remove": left,
}
