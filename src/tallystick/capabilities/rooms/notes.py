"""`notes.*`: side remarks on a room's ledger that change nobody's turn. A note is its event; there is no table."""

from __future__ import annotations

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms import queries
from tallystick.capabilities.rooms.contract import AddNote, ListNotes, Notes, NoteView
from tallystick.capabilities.rooms.events import NoteAdded
from tallystick.capabilities.rooms.model import Sticks
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import to_wire
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx

NOTE = NoteAdded.kind


def _view(event: Event) -> NoteView:
    body = event.read(NoteAdded)
    return NoteView(
        ref=f"notes@{event.seq}",
        seq=event.seq,
        by=event.by,
        ts=to_wire(event.ts),
        body=body.body,
        turn_id=body.turn_id,
    )


@operation(
    "notes.add",
    reach=Reach.SPEAK,
    writes=True,
    short="note",
    examples=({"room_id": "ROOM", "body": "CI is red on main since 14:00"},),
)
def add_note(tx: Tx, me: Caller, ask: AddNote) -> NoteView:
    """Leave a note for the others without taking a turn; it never changes who holds the stick."""
    room = queries.open_room(tx, ask.room_id)
    member = agent_rules.membership(agents.roster(tx, room.room_id), me)
    turn_id = ask.turn_id if ask.turn_id is not None else tx.use(Sticks).turn_id(tx, room.room_id)
    draft = Draft.of(NoteAdded(body=ask.body, turn_id=turn_id), scope_key=member.scope_key)
    (event,) = tx.append(room.room_id, me.agent_id, [draft])
    return _view(event)


@operation("notes.list", reach=Reach.READ, examples=({"room_id": "ROOM"},))
def list_notes(tx: Tx, me: Caller, ask: ListNotes) -> Notes:
    """Read a room's notes, oldest first; page on with the returned cursor as `after_seq`."""
    queries.room(tx, ask.room_id)
    events = reading.since(tx, ask.room_id, ask.after_seq, kinds=[NOTE], limit=ask.limit)
    return Notes(notes=[_view(event) for event in events], cursor=events[-1].seq if events else ask.after_seq)


OPERATIONS = (add_note, list_notes)
