"""`notifications.*`: signs from the system and from tools, kept apart from the conversation; overdue acks among them.

There is no timer for these. The first to read an inbox or write a message after the time is up makes it happen.
"""

from __future__ import annotations

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.messages import queries, rules
from tallystick.capabilities.messages.contract import AckNotification, AckResult, Notify, NotifyResult
from tallystick.capabilities.messages.model import SYSTEM, AwaitedMessage, Kind, Selector
from tallystick.capabilities.messages.receipts import acked
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Room
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import operation
from tallystick.ledger import bodies, reading
from tallystick.ledger.contract import Envelope
from tallystick.ledger.tx import Tx


@operation(
    "notifications.send",
    writes=True,
    examples=({"room_id": "ROOM", "kind": "status_change", "title": "CI is red on main"},),
)
def notify(tx: Tx, me: Caller, ask: Notify) -> NotifyResult:
    """Notify one member, the user, or everyone, without adding to the conversation. For tools and automation."""
    room = rooms.open_room(tx, ask.room_id)
    members = agents.roster(tx, room.room_id)
    author = rules.author(members, me)
    if ask.related_event_id:
        reading.event_by_id(tx, room.room_id, ask.related_event_id)
    to = [ask.target_actor_id or Selector.ALL]
    recipients = rules.recipients(members, to, author.principal)
    given = ask.present(without={"room_id"})
    data = {**given, "target_actor_id": ask.target_actor_id, "recipients": recipients}
    bodies.check(data)
    nudge(tx, room)
    draft = Draft(kind=Kind.NOTIFY, data=data, scope_key=author.scope_key)
    (event,) = tx.append(room.room_id, author.principal, [draft])
    return NotifyResult(event=Envelope.of(event), recipients=recipients)


@operation("notifications.ack", writes=True, examples=({"room_id": "ROOM", "notify_event_id": "EVENT"},))
def ack(tx: Tx, me: Caller, ask: AckNotification) -> AckResult:
    """Say that you have taken note of a notification addressed to you. Once is enough."""
    return acked(
        tx,
        me,
        Kind.NOTIFY_ACK,
        rules.check_notify_ack,
        room_id=ask.room_id,
        event_id=ask.notify_event_id,
        actor_id=ask.actor_id,
    )


def due(tx: Tx, room: Room) -> bool:
    return room.closed_at is None and bool(_overdue(tx, room))


def nudge(tx: Tx, room: Room) -> None:
    """Tell every sender whose acks are overdue; told once, a message is never told again."""
    if room.closed_at is not None:
        return
    for attention in _overdue(tx, room):
        missing = queries.missing(tx, room.room_id, attention.seq)
        tx.append(room.room_id, SYSTEM, [rules.nudge(attention, missing)])


def _overdue(tx: Tx, room: Room) -> list[AwaitedMessage]:
    return queries.overdue(tx, room.room_id, tx.now - room.policy.ack_overdue_ms)
