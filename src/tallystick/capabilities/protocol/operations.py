"""`protocol.*`: say that work changes hands or stands still, and read all such events in one envelope."""

from __future__ import annotations

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages.events import MessageSent
from tallystick.capabilities.messages.model import Selector
from tallystick.capabilities.messages.operations import send_text
from tallystick.capabilities.messages.receipts import acked_at
from tallystick.capabilities.protocol import queries, rules
from tallystick.capabilities.protocol.contract import (
    VERSION,
    AckView,
    ListedEvent,
    ListProtocol,
    ProtocolBody,
    ProtocolEvent,
    ProtocolEvents,
    SendProtocol,
)
from tallystick.capabilities.protocol.events import WorkBlocked, WorkHandedOver
from tallystick.capabilities.protocol.queries import FOLDS, agents_concerned, event_type, recipients, task_of
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Room
from tallystick.capabilities.turns.events import StickPassed, StickReleased
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import JsonObject, Reach, moment, operation
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Tx

_HANDOFF = {
    "room_id": "ROOM",
    "event_type": "HANDOFF",
    "to": "cobalt-harbor",
    "task_id": "TASK-001",
    "subject": "parser done",
    "summary": "grammar complete, tests green",
    "next_action": "review src/parser.py",
}
_BLOCKED = {
    "room_id": "ROOM",
    "event_type": "BLOCKED",
    "to": "user",
    "task_id": "TASK-001",
    "subject": "no access",
    "blocker": "the registry refuses my token",
    "requested_action": "renew the token",
    "urgency": "high",
}


@operation("protocol.send", reach=Reach.SPEAK, writes=True, examples=(_HANDOFF, _BLOCKED))
def send(tx: Tx, me: Caller, ask: SendProtocol) -> ListedEvent:
    """Hand work to somebody (HANDOFF), or say that you cannot go on and what you need (BLOCKED).

    It reaches the recipient as a message, one to acknowledge if it requires an ack. Sent by role, it reaches whoever
    has that role now, and the first to acknowledge accepts it. INCURSION and RESUME are written by the hub itself.
    """
    payload = rules.payload(ask)
    room = rooms.open_room(tx, ask.room_id)
    member = agent_rules.membership(agents.roster(tx, room.room_id), me)
    to = _recipient(tx, room.room_id, me, ask.to)
    message = send_text(tx, room, me, to=to, text=rules.message(ask), attention=ask.requires_ack)
    reached = message.content.recipients if isinstance(message.content, MessageSent) else []
    body = rules.sending(ask, payload, from_agent=me.agent_id, to_agent=to, message_id=message.id, recipients=reached)
    draft = Draft.of(body, scope_key=member.scope_key)
    (event,) = tx.append(room.room_id, agent_rules.principal(me.agent_id), [draft])
    return _listed(tx, room, event, body)


_BY_ROLE = frozenset(Selector) - {Selector.USER}


def _recipient(tx: Tx, room_id: str, me: Caller, to: str) -> str:
    if to in {"user", "@user"}:
        return "user"
    if to in _BY_ROLE:
        return to
    found = agents.resolve(tx, room_id, to)
    if found == me.agent_id:
        raise InvalidField("You cannot send it to yourself.", field="to")
    return found


def _listed(tx: Tx, room: Room, event: Event, body: ProtocolBody) -> ListedEvent:
    shown = envelope(event, body, room.canonical_path)
    return ListedEvent(seq=event.seq, event=shown, ack=_ack(tx, event.room_id, body))


def _ack(tx: Tx, room_id: str, body: ProtocolBody) -> AckView:
    if not isinstance(body, WorkHandedOver | WorkBlocked):
        return AckView(required=False, message_id=None, acked_at=None)
    required = body.payload.requires_ack
    acked = [acked_at(tx, room_id, body.message_id, each) for each in recipients(body)] if required else []
    first = min((each for each in acked if each is not None), default=None)
    return AckView(required=required, message_id=body.message_id, acked_at=moment(first))


@operation(
    "protocol.list", reach=Reach.READ, examples=({"room_id": "ROOM"}, {"room_id": "ROOM", "event_type": "INCURSION"})
)
def list_events(tx: Tx, me: Caller, ask: ListProtocol) -> ProtocolEvents:
    """List handoffs, blockers, incursions and adoptions of a room, oldest first: all, or of one task, agent or type.

    Handing over the stick is a HANDOFF too. Page on with the returned cursor as `after_seq`.
    """
    room = rooms.room(tx, ask.room_id)
    found = queries.listed(
        tx,
        room.room_id,
        task_id=ask.task_id,
        agent_id=agents.principal_named(tx, room.room_id, ask.agent_id) if ask.agent_id else None,
        event_type=ask.event_type,
        after=ask.after_seq,
        limit=ask.limit,
    )
    cursor = found[-1].seq if found else ask.after_seq
    events = [_listed(tx, room, each, body) for each in found if isinstance(body := each.content, ProtocolBody)]
    return ProtocolEvents(room_id=room.room_id, events=events, cursor=cursor)


CAPABILITY = Capability(
    name="protocol",
    package="tallystick.capabilities.protocol",
    operations=(send, list_events),
    folds=FOLDS,
    tables=("protocol_events", "protocol_parties"),
)


def envelope(event: Event, body: ProtocolBody, project_root: str) -> ProtocolEvent:
    from_agent, to_agent = agents_concerned(body)
    of_stick = isinstance(body, StickReleased | StickPassed)
    return ProtocolEvent(
        id=event.id,
        version=VERSION,
        event_type=event_type(body),
        project_root=project_root,
        bead_id=task_of(body),
        from_agent=from_agent,
        to_agent=to_agent,
        scope=None if of_stick else body.scope,
        created_at=moment(event.ts),
        payload=_stick_payload(body) if of_stick else body.payload.to_data(),
    )


def _stick_payload(body: StickReleased | StickPassed) -> JsonObject:
    """A handoff of the stick: the claim of the turn accepts it, so it asks for no ack of its own."""
    return {
        "subject": f"The stick, turn {body.turn_id}",
        "summary": body.handoff["status"],
        "next_action": body.handoff["next_action"],
        "requires_ack": False,
    }
