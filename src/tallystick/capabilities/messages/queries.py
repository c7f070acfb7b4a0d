"""Inboxes, deliveries and missing acks, read, and `chat.*`, `system.*` and `context.*` events folded into them.

Each query is an indexed row or range, however long the ledger is.
"""

from __future__ import annotations

from msgspec import UNSET

from tallystick.capabilities.messages import rules
from tallystick.capabilities.messages.events import (
    ContextChanged,
    MessageAcked,
    MessageSent,
    MessagesRead,
    NotificationAcked,
    NotificationSent,
    ReactionAdded,
)
from tallystick.capabilities.messages.model import (
    SYSTEM,
    AwaitedMessage,
    ClientIdUse,
    DeliveredEvent,
    Delivery,
    InboxCounts,
    InboxListener,
    Reaction,
)
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger import reading
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.messages")
AWAITED = ("awaited",)
NEVER = 2**62
AT_ONCE = 20
"""How many overdue or awaited messages one call reads."""


def inbox(tx: Tx, room_id: str, actor_id: str) -> InboxCounts:
    # Asked after every write of a member, and almost always the same as the last time.
    def read() -> InboxCounts:
        return tx.one(SQL["inbox"], InboxCounts, room_id=room_id, actor_id=actor_id) or InboxCounts()

    return tx.kept(room_id, ("inbox", actor_id), read)


def delivery(tx: Tx, room_id: str, recipient: str, seq: int) -> Delivery | None:
    return tx.one(SQL["delivery"], Delivery, room_id=room_id, recipient=recipient, seq=seq)


def delivered(
    tx: Tx, room_id: str, recipient: str, after: int, *, kind: str | None = None, owed: bool = False, limit: int
) -> list[DeliveredEvent]:
    """Up to `limit` events that were delivered to `recipient` after a seq, oldest first."""
    if owed:
        query, value = SQL["delivered_owed"], kind or ""
    elif kind:
        query, value = SQL["delivered_of_kind"], kind
    else:
        return tx.all(
            SQL["delivered"], DeliveredEvent.of_row, room_id=room_id, recipient=recipient, seq=after, limit=limit
        )
    return tx.all(
        query, DeliveredEvent.of_row, room_id=room_id, recipient=recipient, seq=after, kind=value, limit=limit
    )


def unread_plain(tx: Tx, room_id: str, recipient: str, after: int) -> int:
    """How much was delivered after a seq that asks for no ack."""
    return tx.one(SQL["unread_plain"], _count, room_id=room_id, recipient=recipient, seq=after) or 0


def _count(*, count: int) -> int:
    return count


def newest_plain(tx: Tx, room_id: str, recipient: str, after: int) -> Event | None:
    return tx.one(SQL["newest_plain"], Event, room_id=room_id, recipient=recipient, seq=after)


def overdue(tx: Tx, room_id: str, cutoff: Instant) -> list[AwaitedMessage]:
    """Messages sent up to `cutoff` for which acks are missing and no notification was written."""
    if tx.holds(room_id) and _first_awaited(tx, room_id) > cutoff:
        return []
    return tx.all(SQL["overdue"], AwaitedMessage, room_id=room_id, cutoff=cutoff, limit=AT_ONCE)


def _first_awaited(tx: Tx, room_id: str) -> Instant:
    """When the oldest of them was sent."""
    return tx.kept(room_id, AWAITED, lambda: tx.one(SQL["first_awaited"], _sent_at, room_id=room_id) or NEVER)


def _sent_at(*, sent_at: Instant) -> Instant:
    return sent_at


def awaiting(tx: Tx, room_id: str, sender: str) -> list[AwaitedMessage]:
    return tx.all(SQL["awaiting"], AwaitedMessage, room_id=room_id, sender=sender, limit=AT_ONCE)


def missing(tx: Tx, room_id: str, seq: int) -> list[str]:
    """Who still owes an ack for one message."""
    return tx.all(SQL["missing"], _recipient, room_id=room_id, seq=seq)


def _recipient(*, recipient: str) -> str:
    return recipient


def client_id_use(tx: Tx, room_id: str, sender: str, client_id: str | None) -> ClientIdUse | None:
    if client_id is None:
        return None
    return tx.one(SQL["client_id_use"], ClientIdUse, room_id=room_id, sender=sender, client_id=client_id)


def reactions(tx: Tx, room_id: str, first: int, last: int) -> list[Reaction]:
    """The reactions to the events of a range."""
    return tx.all(SQL["reactions"], Reaction, room_id=room_id, first=first, last=last)


def reacted(tx: Tx, room_id: str, seq: int, actor_id: str, emoji: str) -> bool:
    return tx.one(SQL["reaction"], Reaction, room_id=room_id, seq=seq, actor_id=actor_id, emoji=emoji) is not None


def listener(tx: Tx, room_id: str, agent_id: str) -> InboxListener | None:
    return tx.one(SQL["listener"], InboxListener.of_row, room_id=room_id, agent_id=agent_id)


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
def _sent(tx: Tx, event: Event, body: MessageSent) -> None:
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
        tx.forget(event.room_id, *AWAITED)
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
def _notified(tx: Tx, event: Event, body: NotificationSent) -> None:
    _deliver(tx, event, body)
    if event.by == SYSTEM and body.related_event_id is not UNSET and body.about == rules.OVERDUE:
        seq = reading.seq_of_event(tx, event.room_id, body.related_event_id)
        tx.run(SQL["mark_overdue_notified"], room_id=event.room_id, seq=seq)
        tx.forget(event.room_id, *AWAITED)


@fold(MessageAcked, NotificationAcked)
def _acked(tx: Tx, event: Event, body: MessageAcked | NotificationAcked) -> None:
    accepted = body.event_id if isinstance(body, MessageAcked) else body.notify_event_id
    seq = reading.seq_of_event(tx, event.room_id, accepted)
    had = delivery(tx, event.room_id, body.actor_id, seq)
    tx.run(SQL["mark_acked"], room_id=event.room_id, actor_id=body.actor_id, seq=seq, ts=event.ts)
    if had and had.needs_ack:
        tx.run(SQL["settle"], room_id=event.room_id, actor_id=body.actor_id)
        tx.forget(event.room_id, "inbox", body.actor_id)
        tx.run(SQL["answer_attention"], room_id=event.room_id, seq=seq)
        tx.forget(event.room_id, *AWAITED)


@fold(MessagesRead)
def _read(tx: Tx, event: Event, body: MessagesRead) -> None:
    seq = reading.seq_of_event(tx, event.room_id, body.event_id)
    if had := delivery(tx, event.room_id, body.actor_id, seq):
        tx.run(SQL["mark_read"], room_id=event.room_id, actor_id=body.actor_id, seq=seq, place=had.place)
        tx.forget(event.room_id, "inbox", body.actor_id)


@fold(ReactionAdded)
def _reacted(tx: Tx, event: Event, body: ReactionAdded) -> None:
    seq = reading.seq_of_event(tx, event.room_id, body.event_id)
    tx.run(SQL["react"], room_id=event.room_id, seq=seq, actor_id=body.actor_id, emoji=body.emoji)


@fold(ContextChanged)
def _context_changed(tx: Tx, event: Event, body: ContextChanged) -> None:
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


FOLDS = (_sent, _notified, _acked, _read, _reacted, _context_changed)
TABLES = ("deliveries", "inboxes", "attention", "sends", "reactions", "context")
