"""`notifications.*`: signs from the system and from tools, kept apart from the conversation; overdue acks among them.

There is no timer for these. The first to read an inbox or write a message after the time is up makes it happen.
"""

from __future__ import annotations

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages import queries, rules
from tallystick.capabilities.messages.contract import AckNotification, AckResult, Notify, NotifyResult
from tallystick.capabilities.messages.events import NotificationSent
from tallystick.capabilities.messages.model import SYSTEM, AwaitedMessage, Selector
from tallystick.capabilities.messages.receipts import acknowledge
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Room
from tallystick.kernel import envelope
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, Event, or_unset
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger import reading
from tallystick.ledger.contract import Envelope
from tallystick.ledger.tx import Tx


@operation(
    "notifications.send",
    reach=Reach.SPEAK,
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
    target = rules.notified(members, ask.target_actor_id)
    recipients = rules.recipients(members, [target or Selector.ALL], author.principal)
    body = NotificationSent(
        about=ask.kind,
        priority=ask.priority,
        title=or_unset(ask.title),
        message=or_unset(ask.message),
        target_actor_id=target,
        context=or_unset(ask.context),
        requires_ack=ask.requires_ack,
        related_event_id=or_unset(ask.related_event_id),
        recipients=recipients,
    )
    text = envelope.check_body(body)
    notify_overdue(tx, room)
    (event,) = tx.append(room.room_id, author.principal, [Draft.of(body, scope_key=author.scope_key, text=text)])
    return NotifyResult(event=Envelope.of(event), recipients=recipients)


@operation(
    "notifications.ack", reach=Reach.SPEAK, writes=True, examples=({"room_id": "ROOM", "notify_event_id": "EVENT"},)
)
def ack(tx: Tx, me: Caller, ask: AckNotification) -> AckResult:
    """Say that you have taken note of a notification addressed to you. Once is enough."""
    return acknowledge(
        tx,
        me,
        rules.check_notify_ack,
        room_id=ask.room_id,
        event_id=ask.notify_event_id,
        actor_id=ask.actor_id,
    )


def notify_by_hub(tx: Tx, room_id: str, *, to: str, title: str, message: str, related_event_id: str) -> Event:
    """Leave a notification of the hub itself in somebody's inbox."""
    recipient = agent_rules.principal(to)
    body = NotificationSent(
        about="status_change",
        priority="high",
        title=title,
        message=message,
        target_actor_id=recipient,
        requires_ack=False,
        related_event_id=related_event_id,
        recipients=[recipient],
    )
    (event,) = tx.append(room_id, SYSTEM, [Draft.of(body)])
    return event


def is_overdue(tx: Tx, room: Room) -> bool:
    """Whether `notify_overdue` would write something."""
    return room.closed_at is None and bool(_overdue(tx, room))


def notify_overdue(tx: Tx, room: Room) -> None:
    """Notify every sender whose acks are overdue, once for each message."""
    if room.closed_at is not None:
        return
    for awaited in _overdue(tx, room):
        missing = queries.missing(tx, room.room_id, awaited.seq)
        tx.append(room.room_id, SYSTEM, [Draft.of(rules.overdue_notification(awaited, missing))])


def _overdue(tx: Tx, room: Room) -> list[AwaitedMessage]:
    return queries.overdue(tx, room.room_id, tx.now - room.policy.ack_overdue_ms)
