"""`chat.*`, `system.*` and `context.*` events, folded into inboxes, debts and the shared context, and indexed later."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.messages import queries, rules, search
from tallystick.capabilities.messages.model import SYSTEM, Kind
from tallystick.capabilities.messages.queries import SQL
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger import reading
from tallystick.ledger.tx import Projection, Tx


def _deliver(tx: Tx, event: Event) -> int:
    """Put the event into every recipient's inbox; returns how many of them owe an ack."""
    owing = 0
    for recipient in cast("list[str]", event.data["recipients"]):
        needs_ack = int(rules.owes_ack(event, recipient))
        owing += needs_ack
        tx.run(
            SQL["deliver"],
            room_id=event.room_id,
            recipient=recipient,
            seq=event.seq,
            event_id=event.id,
            kind=event.kind,
            sender=event.by,
            needs_ack=needs_ack,
        )
        tx.forget(event.room_id, "inbox", recipient)
    return owing


def sent(tx: Tx, event: Event) -> None:
    owing = _deliver(tx, event)
    if owing:
        tx.run(
            SQL["ask_attention"],
            room_id=event.room_id,
            seq=event.seq,
            event_id=event.id,
            sender=event.by,
            sent_at=event.ts,
            outstanding=owing,
        )
        tx.forget(event.room_id, *queries.AWAITED)
    if client_id := cast("str | None", event.data.get("client_id")):
        tx.run(
            SQL["remember_client_id"],
            room_id=event.room_id,
            sender=event.by,
            client_id=client_id,
            digest=rules.fingerprint(event.data),
            seq=event.seq,
            sent_at=event.ts,
        )


def notified(tx: Tx, event: Event) -> None:
    _deliver(tx, event)
    related = cast("str | None", event.data.get("related_event_id"))
    if event.by == SYSTEM and related and event.data["kind"] == rules.NUDGE:
        tx.run(SQL["nudged"], room_id=event.room_id, seq=reading.seq_of_event(tx, event.room_id, related))
        tx.forget(event.room_id, *queries.AWAITED)


def acked(tx: Tx, event: Event) -> None:
    about = "notify_event_id" if event.kind == Kind.NOTIFY_ACK else "event_id"
    seq = reading.seq_of_event(tx, event.room_id, cast("str", event.data[about]))
    actor_id = cast("str", event.data["actor_id"])
    delivery = queries.delivery(tx, event.room_id, actor_id, seq)
    tx.run(SQL["mark_acked"], room_id=event.room_id, actor_id=actor_id, seq=seq, ts=event.ts)
    if delivery and delivery.needs_ack:
        tx.run(SQL["settle"], room_id=event.room_id, actor_id=actor_id)
        tx.forget(event.room_id, "inbox", actor_id)
        tx.run(SQL["answer_attention"], room_id=event.room_id, seq=seq)
        tx.forget(event.room_id, *queries.AWAITED)


def read(tx: Tx, event: Event) -> None:
    seq = reading.seq_of_event(tx, event.room_id, cast("str", event.data["event_id"]))
    actor_id = cast("str", event.data["actor_id"])
    if delivery := queries.delivery(tx, event.room_id, actor_id, seq):
        tx.run(SQL["mark_read"], room_id=event.room_id, actor_id=actor_id, seq=seq, place=delivery.place)
        tx.forget(event.room_id, "inbox", actor_id)


def reacted(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["react"],
        room_id=event.room_id,
        seq=reading.seq_of_event(tx, event.room_id, cast("str", event.data["event_id"])),
        actor_id=cast("str", event.data["actor_id"]),
        emoji=cast("str", event.data["emoji"]),
    )


def synced(tx: Tx, event: Event) -> None:
    for change in cast("list[dict[str, object]]", event.data["ops"]):
        name = cast("str", change["name"])
        if change["op"] == "delete":
            tx.run(SQL["drop_context"], room_id=event.room_id, name=name)
            continue
        tx.run(
            SQL["set_context"],
            room_id=event.room_id,
            name=name,
            value=to_json({"value": change["value"]}),
            changed_seq=event.seq,
            changed_by=event.by,
        )


def indexed(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["index_text"],
        room_id=event.room_id,
        seq=event.seq,
        kind=search.SEARCHED[event.kind],
        author=event.by,
        ts=event.ts,
        words=" ".join(search.words(search.content(event))),
    )


PROJECTIONS: dict[str, Projection] = {
    Kind.MESSAGE: sent,
    Kind.NOTIFY: notified,
    Kind.ACK: acked,
    Kind.NOTIFY_ACK: acked,
    Kind.READ: read,
    Kind.REACTION: reacted,
    Kind.CONTEXT: synced,
}

TABLES = ("deliveries", "inboxes", "attention", "sends", "reactions", "context")

DEFERRED: dict[str, Projection] = dict.fromkeys(search.SEARCHED, indexed)
"""Cutting a text into words takes longer than writing it down, so nobody who speaks waits for it (see `search`)."""

DEFERRED_TABLES = ("texts",)
