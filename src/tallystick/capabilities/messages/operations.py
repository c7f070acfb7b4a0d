"""`messages.*`: send, mark read, acknowledge and react; and the capability as a whole."""

from __future__ import annotations

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages import (
    context,
    inbox,
    letters,
    mail,
    notifications,
    queries,
    receipts,
    relay,
    rules,
    search,
    sending,
)
from tallystick.capabilities.messages.acking import acked
from tallystick.capabilities.messages.contract import (
    Acked,
    AckMessage,
    MarkedRead,
    MarkRead,
    React,
    Reacted,
    SendMessage,
    Sent,
)
from tallystick.capabilities.messages.model import Kind
from tallystick.capabilities.messages.projections import DEFERRED, DEFERRED_TABLES, PROJECTIONS, TABLES
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Talk
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import operation
from tallystick.ledger import reading
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Tx

_ATTENTION = {"room_id": "ROOM", "text": "Please review src/parser.py", "to": ["@foreman"], "priority": "attention"}


@operation("messages.send", writes=True, examples=(_ATTENTION,))
def send(tx: Tx, me: Caller, ask: SendMessage) -> Sent:
    """Say something to agents of the room, or to the user. Whom it reaches is settled now and never changes later.

    With `priority: attention` every recipient has to acknowledge it. With a `client_id` sending it twice counts once.
    """
    room = rooms.room(tx, ask.room_id)
    members = agents.roster(tx, room.room_id)
    author = rules.author(members, me)
    return sending.post(tx, room, members, author, rules.message(ask))


@operation("messages.read", writes=True, examples=({"room_id": "ROOM", "event_id": "EVENT"},))
def mark_read(tx: Tx, me: Caller, ask: MarkRead) -> MarkedRead:
    """Mark everything delivered to you up to one event as read. It acknowledges nothing, and never goes backwards."""
    room = rooms.open_room(tx, ask.room_id)
    mine = agent_rules.principal(me.agent_id)
    actor_id = agent_rules.principal(ask.actor_id or me.agent_id)
    rules.check_reader(mine, actor_id)
    event = reading.event_by_id(tx, room.room_id, ask.event_id)
    delivery = rules.addressed(event, queries.delivery(tx, room.room_id, actor_id, event.seq), actor_id)
    moved = rules.moves(queries.inbox(tx, room.room_id, actor_id), delivery)
    if moved:
        tx.append(room.room_id, mine, [rules.settlement(Kind.READ, actor_id, event.id)])
    now = queries.inbox(tx, room.room_id, actor_id)
    return MarkedRead(actor_id=actor_id, event_id=event.id, moved=moved, read_seq=now.read_seq, unread=now.unread)


@operation("messages.ack", writes=True, examples=({"room_id": "ROOM", "event_id": "EVENT"},))
def ack(tx: Tx, me: Caller, ask: AckMessage) -> Acked:
    """Accept a message that asked for your attention: you have understood it and will act on it. Once is enough."""
    return acked(tx, me, Kind.ACK, rules.check_ack, room_id=ask.room_id, event_id=ask.event_id, actor_id=ask.actor_id)


@operation("messages.react", writes=True, examples=({"room_id": "ROOM", "event_id": "EVENT", "emoji": "👍"},))
def react(tx: Tx, me: Caller, ask: React) -> Reacted:
    """Put an emoji on an event of the room; the same one twice counts once. A reaction is no acknowledgement."""
    room = rooms.open_room(tx, ask.room_id)
    author = rules.author(agents.roster(tx, room.room_id), me)
    event = reading.event_by_id(tx, room.room_id, ask.event_id)
    already = queries.reacted(tx, room.room_id, event.seq, author.principal, ask.emoji)
    if not already:
        data: dict[str, object] = {"event_id": event.id, "actor_id": author.principal, "emoji": ask.emoji}
        tx.append(room.room_id, author.principal, [Draft(kind=Kind.REACTION, data=data)])
    return Reacted(actor_id=author.principal, event_id=event.id, emoji=ask.emoji, already=already)


CAPABILITY = Capability(
    name="messages",
    package="tallystick.capabilities.messages",
    operations=(
        send,
        inbox.read_inbox,
        mark_read,
        ack,
        react,
        relay.relay,
        search.search,
        receipts.receipts,
        notifications.notify,
        notifications.ack,
        context.sync,
    ),
    projections=PROJECTIONS,
    tables=TABLES,
    deferred=DEFERRED,
    deferred_tables=DEFERRED_TABLES,
    offers={**mail.OFFERS, **letters.OFFERS, Talk: sending.ActionTalk()},
    notice=mail.notice,
)
