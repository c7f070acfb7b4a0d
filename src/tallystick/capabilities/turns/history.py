"""The stick's past, in the Talking Stick row shape: what a new owner reads after a takeover."""

from __future__ import annotations

from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.turns.contract import RoomEvents, StickEvent, StickEvents
from tallystick.capabilities.turns.events import STICK_EVENTS
from tallystick.capabilities.turns.model import Handed
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import as_record, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx


def handed(tx: Tx, room_id: str, seq: int | None) -> Handed | None:
    """The handoff written at `seq`."""
    if not seq:
        return None
    event = reading.event_at(tx, room_id, seq)
    return Handed(by=event.by, kind=event.kind, body=event.body)


def _row(event: Event) -> StickEvent:
    return as_record(
        StickEvent,
        {
            "event_seq": event.seq,
            "event_id": event.id,
            "room_id": event.room_id,
            "event_type": event.kind.rpartition(".")[2],
            "from_agent_id": None,
            "to_agent_id": None,
            "handoff": None,
            "reason": None,
            "created_at": event.ts,
            **event.data,
        },
    )


@operation("turns.history", examples=({"room_id": "ROOM", "newest": True, "limit": 10},))
def stick_events(tx: Tx, me: Caller, ask: RoomEvents) -> StickEvents:
    """Read the stick's history: claims, releases, passes and takeovers, with every handoff word for word.

    After a takeover this is where the context is. Page on with the returned cursor as `after_event_seq`.
    """
    rooms.room(tx, ask.room_id)
    kinds = [body.kind for body in STICK_EVENTS]
    if ask.newest:
        head = tx.head(ask.room_id).seq
        events = reading.before(tx, ask.room_id, head + 1, kinds=kinds, limit=ask.limit)
        events = [event for event in events if event.seq > ask.after_event_seq]
    else:
        events = reading.since(tx, ask.room_id, ask.after_event_seq, kinds=kinds, limit=ask.limit)
    cursor = events[-1].seq if events else ask.after_event_seq
    return StickEvents(events=[_row(event) for event in events], cursor=cursor)
