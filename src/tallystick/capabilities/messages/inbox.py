"""`messages.inbox` and what a wait for mail needs: what was delivered to somebody and what became of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import UNSET

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages import notifications, queries, rules
from tallystick.capabilities.messages.contract import AwaitedAck, InboxView, ReactionView, ReadInbox, ReceivedEvent
from tallystick.capabilities.messages.events import MessageSent
from tallystick.capabilities.messages.model import DeliveredEvent, NewMail
from tallystick.capabilities.messages.queries import SQL
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Room
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.kernel.hints import step
from tallystick.kernel.operation import Pending, Reach, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.contract import Envelope
from tallystick.ledger.errors import EventNotFound
from tallystick.ledger.tx import Tx

AT_MOST = 50
"""How many events a wait is given at once."""


@operation(
    "messages.inbox", reach=Reach.READ, waits=True, examples=({"room_id": "ROOM"}, {"room_id": "ROOM", "owed": True})
)
def read_inbox(tx: Tx, me: Caller, ask: ReadInbox) -> InboxView | Pending[InboxView]:
    """Read what was addressed to you and is not read yet: messages and notifications, oldest first.

    Looking marks nothing. Mark it read with messages.read, and accept what `needs_ack` with messages.ack, or with
    notifications.ack. `awaiting` lists your own messages that others have not acknowledged. With `max_wait_ms` the call
    waits until there is something to show.
    """
    room = rooms.room(tx, ask.room_id)
    if notifications.is_overdue(tx, room):
        if not tx.writable:
            return Pending(_view(tx, me, ask), act=True)
        notifications.notify_overdue(tx, room)
    view = _view(tx, me, ask)
    return view if view.messages else Pending(view, wait_ms=ask.max_wait_ms)


def _view(tx: Tx, me: Caller, ask: ReadInbox) -> InboxView:
    whom = agents.principal_named(tx, ask.room_id, ask.actor_id) if ask.actor_id else me.agent_id
    actor_id = agent_rules.principal(whom)
    counts = queries.inbox(tx, ask.room_id, actor_id)
    # What is owed is shown whether it was read or not.
    start = ask.since_seq if ask.since_seq is not None else 0 if ask.owed else counts.read_seq
    found = queries.delivered(tx, ask.room_id, actor_id, start, kind=ask.kind, owed=ask.owed, limit=ask.limit + 1)
    deliveries = found[: ask.limit]
    return InboxView(
        actor_id=actor_id,
        messages=_received(tx, me, deliveries, counts.read_seq) if deliveries else [],
        cursor=deliveries[-1].event.seq if deliveries else start,
        more=len(found) > ask.limit,
        read_seq=counts.read_seq,
        unread=counts.unread,
        unacked=counts.unacked,
        awaiting=_awaiting(tx, ask.room_id, actor_id),
    )


def _received(tx: Tx, me: Caller, deliveries: Sequence[DeliveredEvent], read_seq: int) -> list[ReceivedEvent]:
    first, last = deliveries[0].event, deliveries[-1].event
    reactions = queries.reactions(tx, first.room_id, first.seq, last.seq)
    return [
        ReceivedEvent(
            event=Envelope.of(each.event),
            read=each.event.seq <= read_seq,
            needs_ack=each.needs_ack and each.acked_at is None,
            acked_at=moment(each.acked_at),
            source_available=_source_available(tx, me, each.event),
            reactions=[
                ReactionView(actor_id=reaction.actor_id, emoji=reaction.emoji)
                for reaction in reactions
                if reaction.seq == each.event.seq
            ],
        )
        for each in deliveries
    ]


def _source_available(tx: Tx, me: Caller, event: Event) -> bool | None:
    """Whether the caller could open what was relayed: it is here, and within reach."""
    message = event.content
    if not isinstance(message, MessageSent) or message.src_group_id is UNSET or message.src_event_id is UNSET:
        return None
    if me.room_id and message.src_group_id != me.room_id:
        return False
    try:
        reading.event_by_id(tx, message.src_group_id, message.src_event_id)
    except EventNotFound:
        return False
    return True


def _awaiting(tx: Tx, room_id: str, sender: str) -> list[AwaitedAck]:
    return [
        AwaitedAck(
            event_id=awaited.event_id,
            seq=awaited.seq,
            sent_at=moment(awaited.sent_at),
            missing=queries.missing(tx, room_id, awaited.seq),
        )
        for awaited in queries.awaiting(tx, room_id, sender)
    ]


def begin_listening(tx: Tx, room_id: str, me: Caller, *, wait_ms: int) -> str:
    """Register a member's one wait for mail and give its id; refuse while another one lives."""
    present = queries.listener(tx, room_id, me.agent_id)
    if present:
        rules.check_listener(present, tx.process_state(present.process), now=tx.now)
    listener_id = tx.new_id()
    tx.run(
        SQL["listen"],
        room_id=room_id,
        agent_id=me.agent_id,
        listener_id=listener_id,
        since=tx.now,
        until=tx.now + wait_ms + rules.LISTENER_GRACE_MS,
        host_id=me.process.host_id if me.process else None,
        pid=me.process.pid if me.process else None,
        process_started_at=me.process.started_at if me.process else None,
    )
    return listener_id


def end_listening(tx: Tx, room_id: str, me: Caller, listener_id: str) -> None:
    tx.run(SQL["stop_listening"], room_id=room_id, agent_id=me.agent_id, listener_id=listener_id)


def new_mail(tx: Tx, room: Room, me: Caller, *, kinds: Collection[str], after: int | None) -> NewMail:
    """What was addressed to the caller after a cursor; without one, after what its last wait was given."""
    if tx.writable:
        notifications.notify_overdue(tx, room)
    room_id, actor_id = room.room_id, agent_rules.principal(me.agent_id)
    start = _listened_until(tx, room_id, me) if after is None else after
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    deliveries = queries.delivered(tx, room_id, actor_id, start, kind=kind, limit=AT_MOST)
    events = [each.event for each in deliveries]
    # A page that is not full has seen everything up to the head.
    cursor = events[-1].seq if len(events) == AT_MOST else max(start, tx.head(room_id).seq)
    if tx.writable and events:
        tx.run(SQL["advance_listener"], room_id=room_id, agent_id=me.agent_id, seq=cursor)
    return NewMail(events=events, cursor=cursor, act=bool(events) or notifications.is_overdue(tx, room))


def is_called(tx: Tx, room_id: str, me: Caller, *, after: int | None) -> bool:
    """Whether somebody wants an ack of the caller for what no wait has brought yet."""
    actor_id = agent_rules.principal(me.agent_id)
    if not queries.inbox(tx, room_id, actor_id).unacked:
        return False
    start = _listened_until(tx, room_id, me) if after is None else after
    return bool(queries.delivered(tx, room_id, actor_id, start, owed=True, limit=1))


def _listened_until(tx: Tx, room_id: str, me: Caller) -> int:
    """Where this member's last wait ended, or what it has read since, whichever is later."""
    listener = queries.listener(tx, room_id, me.agent_id)
    read_seq = queries.inbox(tx, room_id, agent_rules.principal(me.agent_id)).read_seq
    return max(listener.heard_seq if listener else 0, read_seq)


def notice(tx: Tx, room_id: str, me: Caller) -> str | None:
    """What a member who called about something else should know."""
    inbox = queries.inbox(tx, room_id, agent_rules.principal(me.agent_id))
    if not inbox.unread and not inbox.unacked:
        return None
    subject = f"{inbox.unread} unread message" if inbox.unread else f"{inbox.unacked} message"
    plural = "" if (inbox.unread or inbox.unacked) == 1 else "s"
    verb = f"need{'s' if inbox.unacked == 1 else ''} your ack"
    beside = f", {inbox.unacked} {verb}" if inbox.unread else f" {verb}"
    return f"{subject}{plural}{beside if inbox.unacked else ''}: {step('messages.inbox')}"
