"""`messages.read`, `.ack`, `.react` and `.receipts`: what recipients made of what was delivered to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages import queries, rules
from tallystick.capabilities.messages.contract import (
    AckMessage,
    AckResult,
    DeliveryReceipt,
    DeliveryReceipts,
    MarkRead,
    MarkReadResult,
    React,
    ReactResult,
    ReadReceipts,
)
from tallystick.capabilities.messages.events import MessagesRead, ReactionAdded
from tallystick.capabilities.messages.model import Delivery
from tallystick.capabilities.messages.queries import SQL
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Reach, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx

Check: TypeAlias = Callable[[Event, Delivery | None, str], Delivery]


def acknowledge(tx: Tx, me: Caller, check: Check, *, room_id: str, event_id: str, actor_id: str | None) -> AckResult:
    """Accept a message or a notification; once it is accepted, nothing more is written."""
    room = rooms.open_room(tx, room_id)
    mine = agent_rules.principal(me.agent_id)
    rules.check_self(mine, agents.principal_named(tx, room.room_id, actor_id) if actor_id else None)
    event = reading.event_by_id(tx, room.room_id, event_id)
    delivery = check(event, queries.delivery(tx, room.room_id, mine, event.seq), mine)
    if delivery.acked_at is not None:
        return AckResult(actor_id=mine, event_id=event.id, already=True, acked_at=moment(delivery.acked_at))
    (done,) = tx.append(room.room_id, mine, [Draft.of(rules.acknowledgement(event, mine))])
    return AckResult(actor_id=mine, event_id=event.id, already=False, acked_at=moment(done.ts))


@operation("messages.read", reach=Reach.SPEAK, writes=True, examples=({"room_id": "ROOM", "event_id": "EVENT"},))
def mark_read(tx: Tx, me: Caller, ask: MarkRead) -> MarkReadResult:
    """Mark everything delivered to you up to one event as read. It acknowledges nothing, and never goes backwards."""
    room = rooms.open_room(tx, ask.room_id)
    mine = agent_rules.principal(me.agent_id)
    whom = agents.principal_named(tx, room.room_id, ask.actor_id) if ask.actor_id else me.agent_id
    actor_id = agent_rules.principal(whom)
    rules.check_reader(mine, actor_id)
    event = reading.event_by_id(tx, room.room_id, ask.event_id)
    delivery = rules.addressed(event, queries.delivery(tx, room.room_id, actor_id, event.seq), actor_id)
    moved = rules.moves(queries.inbox(tx, room.room_id, actor_id), delivery)
    if moved:
        tx.append(room.room_id, mine, [Draft.of(MessagesRead(actor_id=actor_id, event_id=event.id))])
    now = queries.inbox(tx, room.room_id, actor_id)
    return MarkReadResult(actor_id=actor_id, event_id=event.id, moved=moved, read_seq=now.read_seq, unread=now.unread)


@operation("messages.ack", reach=Reach.SPEAK, writes=True, examples=({"room_id": "ROOM", "event_id": "EVENT"},))
def ack(tx: Tx, me: Caller, ask: AckMessage) -> AckResult:
    """Accept a message that asked for your attention: you have understood it and will act on it. Once is enough."""
    return acknowledge(tx, me, rules.check_ack, room_id=ask.room_id, event_id=ask.event_id, actor_id=ask.actor_id)


@operation(
    "messages.react",
    reach=Reach.SPEAK,
    writes=True,
    examples=({"room_id": "ROOM", "event_id": "EVENT", "emoji": "👍"},),
)
def react(tx: Tx, me: Caller, ask: React) -> ReactResult:
    """Put an emoji on an event of the room; the same one twice counts once. A reaction is no acknowledgement."""
    room = rooms.open_room(tx, ask.room_id)
    author = rules.author(agents.roster(tx, room.room_id), me)
    event = reading.event_by_id(tx, room.room_id, ask.event_id)
    already = queries.reacted(tx, room.room_id, event.seq, author.principal, ask.emoji)
    if not already:
        reaction = ReactionAdded(event_id=event.id, actor_id=author.principal, emoji=ask.emoji)
        tx.append(room.room_id, author.principal, [Draft.of(reaction)])
    return ReactResult(actor_id=author.principal, event_id=event.id, emoji=ask.emoji, already=already)


STRETCH = 1000


def _receipt(
    *, seq: int, event_id: str, recipient: str, needs_ack: int, acked_at: Instant | None, read_seq: int
) -> DeliveryReceipt:
    return DeliveryReceipt(
        seq=seq,
        event_id=event_id,
        recipient=recipient,
        read=seq <= read_seq,
        needs_ack=bool(needs_ack) and acked_at is None,
        acked_at=moment(acked_at),
    )


@operation("messages.receipts", reach=Reach.READ, examples=({"room_id": "ROOM", "first_seq": 1, "last_seq": 100},))
def receipts(tx: Tx, me: Caller, ask: ReadReceipts) -> DeliveryReceipts:
    """Show to whom the messages and notifications of a stretch went, and who has read and who has accepted each."""
    room = rooms.room(tx, ask.room_id)
    if ask.last_seq - ask.first_seq >= STRETCH:
        raise InvalidField(f"A stretch has at most {STRETCH} events.", field="last_seq")
    found = tx.all(SQL["receipts"], _receipt, room_id=room.room_id, first=ask.first_seq, last=ask.last_seq)
    return DeliveryReceipts(receipts=found)


def acked_at(tx: Tx, room_id: str, event_id: str, recipient: str) -> Instant | None:
    """When a recipient acknowledged a message, if it has."""
    seq = reading.seq_of_event(tx, room_id, event_id)
    delivery = queries.delivery(tx, room_id, agent_rules.principal(recipient), seq)
    return delivery.acked_at if delivery else None
