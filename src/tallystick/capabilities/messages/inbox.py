"""`messages.inbox`: what was delivered to somebody, what became of it, and what its reader is still waiting for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages import overdue, queries
from tallystick.capabilities.messages.contract import Awaiting, InboxView, ReactionView, ReadInbox, Received
from tallystick.capabilities.messages.model import Letter
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import Pending, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.contract import Envelope
from tallystick.ledger.errors import EventNotFound
from tallystick.ledger.tx import Tx


@operation("messages.inbox", waits=True, examples=({"room_id": "ROOM"}, {"room_id": "ROOM", "owed": True}))
def read_inbox(tx: Tx, me: Caller, ask: ReadInbox) -> InboxView | Pending[InboxView]:
    """Read what was addressed to you and is not read yet: messages and notifications, oldest first.

    Looking marks nothing. Mark it read with messages.read, and accept what `needs_ack` with messages.ack, or with
    notifications.ack. `awaiting` lists your own messages that others have not acknowledged. With `max_wait_ms` the call
    waits until there is something to show.
    """
    room = rooms.room(tx, ask.room_id)
    if overdue.due(tx, room):
        if not tx.writable:
            return Pending(_view(tx, me, ask), act=True)
        overdue.nudge(tx, room)
    view = _view(tx, me, ask)
    return view if view.messages else Pending(view, wait_ms=ask.max_wait_ms)


def _view(tx: Tx, me: Caller, ask: ReadInbox) -> InboxView:
    actor_id = agent_rules.principal(ask.actor_id or me.agent_id)
    counts = queries.inbox(tx, ask.room_id, actor_id)
    # What is owed is shown whether it was read or not.
    start = ask.since_seq if ask.since_seq is not None else 0 if ask.owed else counts.read_seq
    found = queries.letters(tx, ask.room_id, actor_id, start, kind=ask.kind, owed=ask.owed, limit=ask.limit + 1)
    letters = found[: ask.limit]
    return InboxView(
        actor_id=actor_id,
        messages=_received(tx, letters, counts.read_seq) if letters else [],
        cursor=letters[-1].event.seq if letters else start,
        more=len(found) > ask.limit,
        read_seq=counts.read_seq,
        unread=counts.unread,
        unacked=counts.unacked,
        awaiting=_awaiting(tx, ask.room_id, actor_id),
    )


def _received(tx: Tx, letters: Sequence[Letter], read_seq: int) -> list[Received]:
    first, last = letters[0].event, letters[-1].event
    reactions = queries.reactions(tx, first.room_id, first.seq, last.seq)
    return [
        Received(
            event=Envelope.of(letter.event),
            read=letter.event.seq <= read_seq,
            needs_ack=letter.needs_ack and letter.acked_at is None,
            acked_at=moment(letter.acked_at),
            source_available=_source_available(tx, letter.event),
            reactions=[
                ReactionView(actor_id=reaction.actor_id, emoji=reaction.emoji)
                for reaction in reactions
                if reaction.seq == letter.event.seq
            ],
        )
        for letter in letters
    ]


def _source_available(tx: Tx, event: Event) -> bool | None:
    source = cast("str | None", event.data.get("src_event_id"))
    if source is None:
        return None
    try:
        reading.event_by_id(tx, cast("str", event.data["src_group_id"]), source)
    except EventNotFound:
        return False
    return True


def _awaiting(tx: Tx, room_id: str, sender: str) -> list[Awaiting]:
    return [
        Awaiting(
            event_id=attention.event_id,
            seq=attention.seq,
            sent_at=moment(attention.sent_at),
            missing=queries.missing(tx, room_id, attention.seq),
        )
        for attention in queries.awaiting(tx, room_id, sender)
    ]
