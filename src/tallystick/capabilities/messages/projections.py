"""`chat.*`, `system.*` and `context.*` events, folded into inboxes, debts and the shared context, and indexed later."""

from __future__ import annotations

from msgspec import UNSET

from tallystick.capabilities.messages import queries, rules, search
from tallystick.capabilities.messages.events import (
    ContextChanged,
    MessageAcked,
    MessageSent,
    MessagesRead,
    NotificationAcked,
    NotificationSent,
    ReactionAdded,
)
from tallystick.capabilities.messages.model import SYSTEM
from tallystick.capabilities.messages.queries import SQL
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger import reading
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx


def _deliver(tx: Tx, event: Event, body: MessageSent | NotificationSent) -> int:
    """Put the event into every recipient's inbox; returns how many of them owe an ack."""
    owing, asked = 0, rules.asks_for_ack(body)
    for recipient in body.recipients:
        needs_ack = int(asked and recipient != event.by)
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


@fold(MessageSent)
def sent(tx: Tx, event: Event, body: MessageSent) -> None:
    owing = _deliver(tx, event, body)
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
    if body.client_id is not UNSET:
        tx.run(
            SQL["remember_client_id"],
            room_id=event.room_id,
            sender=event.by,
            client_id=body.client_id,
            digest=rules.fingerprint(body),
            seq=event.seq,
            sent_at=event.ts,
        )


@fold(NotificationSent)
def notified(tx: Tx, event: Event, body: NotificationSent) -> None:
    _deliver(tx, event, body)
    if event.by == SYSTEM and body.related_event_id is not UNSET and body.about == rules.OVERDUE:
        seq = reading.seq_of_event(tx, event.room_id, body.related_event_id)
        tx.run(SQL["mark_overdue_notified"], room_id=event.room_id, seq=seq)
        tx.forget(event.room_id, *queries.AWAITED)


@fold(MessageAcked, NotificationAcked)
def acked(tx: Tx, event: Event, body: MessageAcked | NotificationAcked) -> None:
    accepted = body.event_id if isinstance(body, MessageAcked) else body.notify_event_id
    seq = reading.seq_of_event(tx, event.room_id, accepted)
    delivery = queries.delivery(tx, event.room_id, body.actor_id, seq)
    tx.run(SQL["mark_acked"], room_id=event.room_id, actor_id=body.actor_id, seq=seq, ts=event.ts)
    if delivery and delivery.needs_ack:
        tx.run(SQL["settle"], room_id=event.room_id, actor_id=body.actor_id)
        tx.forget(event.room_id, "inbox", body.actor_id)
        tx.run(SQL["answer_attention"], room_id=event.room_id, seq=seq)
        tx.forget(event.room_id, *queries.AWAITED)


@fold(MessagesRead)
def read(tx: Tx, event: Event, body: MessagesRead) -> None:
    seq = reading.seq_of_event(tx, event.room_id, body.event_id)
    if delivery := queries.delivery(tx, event.room_id, body.actor_id, seq):
        tx.run(SQL["mark_read"], room_id=event.room_id, actor_id=body.actor_id, seq=seq, place=delivery.place)
        tx.forget(event.room_id, "inbox", body.actor_id)


@fold(ReactionAdded)
def reacted(tx: Tx, event: Event, body: ReactionAdded) -> None:
    seq = reading.seq_of_event(tx, event.room_id, body.event_id)
    tx.run(SQL["react"], room_id=event.room_id, seq=seq, actor_id=body.actor_id, emoji=body.emoji)


@fold(ContextChanged)
def context_changed(tx: Tx, event: Event, body: ContextChanged) -> None:
    for change in body.ops:
        if change.op == "delete":
            tx.run(SQL["drop_context"], room_id=event.room_id, name=change.name)
            continue
        tx.run(
            SQL["set_context"],
            room_id=event.room_id,
            name=change.name,
            value=to_json({"value": change.value}),
            changed_seq=event.seq,
            changed_by=event.by,
        )


@fold(*search.SEARCHED)
def indexed(tx: Tx, event: Event, body: search.Searchable) -> None:
    tx.run(
        SQL["index_text"],
        room_id=event.room_id,
        seq=event.seq,
        kind=search.SEARCHED[type(body)],
        author=event.by,
        ts=event.ts,
        words=" ".join(search.words(search.text_of(body))),
    )


FOLDS = (sent, notified, acked, read, reacted, context_changed)
TABLES = ("deliveries", "inboxes", "attention", "sends", "reactions", "context")
DEFERRED_FOLDS = (indexed,)
"""Cutting a text into words takes longer than writing it down, so no sender waits for it (see `search`)."""
DEFERRED_TABLES = ("texts",)
