"""Attention that nobody gave: once an ack is overdue, the sender gets one notification about it.

There is no timer. Whoever looks first after the time is up, at an inbox or by writing a message, makes it happen.
"""

from __future__ import annotations

from tallystick.capabilities.messages import queries, rules
from tallystick.capabilities.messages.model import SYSTEM, Attention
from tallystick.capabilities.rooms.model import Room
from tallystick.ledger.tx import Tx


def due(tx: Tx, room: Room) -> bool:
    return room.closed_at is None and bool(_overdue(tx, room))


def nudge(tx: Tx, room: Room) -> None:
    """Tell every sender whose acks are overdue; told once, a message is never told again."""
    if room.closed_at is not None:
        return
    for attention in _overdue(tx, room):
        missing = queries.missing(tx, room.room_id, attention.seq)
        tx.append(room.room_id, SYSTEM, [rules.nudge(attention, missing)])


def _overdue(tx: Tx, room: Room) -> list[Attention]:
    return queries.overdue(tx, room.room_id, tx.now - room.policy.ack_overdue_ms)
