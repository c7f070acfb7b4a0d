"""Inboxes, deliveries and debts, read; each an indexed look-up or range, whatever the ledger holds."""

from __future__ import annotations

from tallystick.capabilities.messages.model import Attention, Delivery, Inbox, Letter, Listener, Reaction, Sending
from tallystick.kernel.clock import Instant
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.capabilities.messages")
AWAITED = ("awaited",)
NEVER = 2**62
AT_ONCE = 20
"""How many overdue or awaited messages one call looks at."""


def inbox(tx: Tx, room_id: str, actor_id: str) -> Inbox:
    # Asked after every write of a member, and almost always the same as the last time.
    def read() -> Inbox:
        return tx.one(SQL["inbox"], Inbox, room_id=room_id, actor_id=actor_id) or Inbox()

    return tx.kept(room_id, ("inbox", actor_id), read)


def delivery(tx: Tx, room_id: str, recipient: str, seq: int) -> Delivery | None:
    return tx.one(SQL["delivery"], Delivery, room_id=room_id, recipient=recipient, seq=seq)


def letters(
    tx: Tx, room_id: str, recipient: str, after: int, *, kind: str | None = None, owed: bool = False, limit: int
) -> list[Letter]:
    """Up to `limit` events that were delivered to `recipient` after a seq, oldest first."""
    if owed:
        query, value = SQL["letters_owed"], kind or ""
    elif kind:
        query, value = SQL["letters_of_kind"], kind
    else:
        return tx.all(SQL["letters"], Letter.of_row, room_id=room_id, recipient=recipient, seq=after, limit=limit)
    return tx.all(query, Letter.of_row, room_id=room_id, recipient=recipient, seq=after, kind=value, limit=limit)


def overdue(tx: Tx, room_id: str, cutoff: Instant) -> list[Attention]:
    """Messages sent up to `cutoff` whose missing acks their sender has not been told about."""
    if tx.holds(room_id) and _first_awaited(tx, room_id) > cutoff:
        return []
    return tx.all(SQL["overdue"], Attention, room_id=room_id, cutoff=cutoff, limit=AT_ONCE)


def _first_awaited(tx: Tx, room_id: str) -> Instant:
    """When the oldest of them was sent."""
    return tx.kept(room_id, AWAITED, lambda: tx.one(SQL["first_awaited"], _sent_at, room_id=room_id) or NEVER)


def _sent_at(*, sent_at: Instant) -> Instant:
    return sent_at


def awaiting(tx: Tx, room_id: str, sender: str) -> list[Attention]:
    return tx.all(SQL["awaiting"], Attention, room_id=room_id, sender=sender, limit=AT_ONCE)


def missing(tx: Tx, room_id: str, seq: int) -> list[str]:
    """Who still owes an ack for one message."""
    return tx.all(SQL["missing"], _recipient, room_id=room_id, seq=seq)


def _recipient(*, recipient: str) -> str:
    return recipient


def sending(tx: Tx, room_id: str, sender: str, client_id: str | None) -> Sending | None:
    if client_id is None:
        return None
    return tx.one(SQL["sending"], Sending, room_id=room_id, sender=sender, client_id=client_id)


def reactions(tx: Tx, room_id: str, first: int, last: int) -> list[Reaction]:
    """The reactions to the events of a range."""
    return tx.all(SQL["reactions"], Reaction, room_id=room_id, first=first, last=last)


def reacted(tx: Tx, room_id: str, seq: int, actor_id: str, emoji: str) -> bool:
    return tx.one(SQL["reaction"], Reaction, room_id=room_id, seq=seq, actor_id=actor_id, emoji=emoji) is not None


def listener(tx: Tx, room_id: str, agent_id: str) -> Listener | None:
    return tx.one(SQL["listener"], Listener.of_row, room_id=room_id, agent_id=agent_id)
