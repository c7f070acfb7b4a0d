"""What an agent has lost: it is notified, and gets a sign beside every answer until it has read that or has it back."""

from __future__ import annotations

import msgspec

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.messages.events import MessagesRead, NotificationAcked
from tallystick.capabilities.messages.notifications import notify_by_hub
from tallystick.capabilities.reservations import queries, rules
from tallystick.capabilities.reservations.events import ReservationEnding, ReservationExpired, ReservationGranted
from tallystick.capabilities.reservations.model import Reservation
from tallystick.capabilities.reservations.queries import SQL
from tallystick.kernel import scopes
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import to_wire
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.hints import step
from tallystick.ledger import reading
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx

AT_MOST = 3


class LostPath(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    fate: str


def archive(tx: Tx, room_id: str, lost: Reservation, draft: Draft, *, by: str) -> None:
    """Write down that a reservation is over, and tell its holder."""
    (event,) = tx.append(room_id, by, [draft])
    if agents.participant(tx, room_id, lost.agent_id) is None:
        return
    text = f"{rules.fate(queries.by_id(tx, room_id, lost.reservation_id) or lost, tx.now)}."
    title = f"You lost {lost.scope.path}"
    notify_by_hub(tx, room_id, to=lost.agent_id, title=title, message=f"{title}: {text}", related_event_id=event.id)


def notice(tx: Tx, room_id: str, me: Caller) -> str | None:
    """What a member who called about something else should know."""
    actor_id = agent_rules.principal(me.agent_id)
    found = _losses(tx, room_id, actor_id)
    if not found:
        return None
    named = "; ".join(f"you lost {each.path}: {each.fate}" for each in found[:AT_MOST])
    more = "; and more" if len(found) > AT_MOST else ""
    return f"{named}{more}. What is reserved now: {step('reservations.status')}"


def _losses(tx: Tx, room_id: str, actor_id: str) -> list[LostPath]:
    def read() -> list[LostPath]:
        return tx.all(SQL["losses"], LostPath, room_id=room_id, actor_id=actor_id, limit=AT_MOST + 1)

    return tx.kept(room_id, ("losses", actor_id), read)


@fold(ReservationExpired)
def lost(tx: Tx, event: Event, body: ReservationExpired) -> None:
    taken_over = body.ending is ReservationEnding.TAKEN_OVER
    fate = f"{event.by} took it over" if taken_over else f"it ran out at {to_wire(body.until)}"
    actor_id = agent_rules.principal(body.agent_id)
    tx.run(
        SQL["lose"],
        room_id=event.room_id,
        actor_id=actor_id,
        seq=event.seq,
        reservation_id=body.reservation_id,
        path=body.path,
        folded=scopes.fold(body.path.removesuffix("/*").removesuffix("*")),
        fate=fate,
    )
    tx.forget(event.room_id, "losses", actor_id)


@fold(ReservationGranted)
def regained(tx: Tx, event: Event, body: ReservationGranted) -> None:
    actor_id = agent_rules.principal(body.agent_id)
    tx.run(SQL["regain"], room_id=event.room_id, actor_id=actor_id, folded=scopes.fold(body.key))
    tx.forget(event.room_id, "losses", actor_id)


@fold(MessagesRead, NotificationAcked)
def notified(tx: Tx, event: Event, body: MessagesRead | NotificationAcked) -> None:
    """The notification comes after the loss, so reading up to it, or taking note of it, settles the loss."""
    about = body.event_id if isinstance(body, MessagesRead) else body.notify_event_id
    _settle(tx, event.room_id, body.actor_id, reading.seq_of_event(tx, event.room_id, about))


@fold(MemberRemoved)
def left(tx: Tx, event: Event, body: MemberRemoved) -> None:
    _settle(tx, event.room_id, agent_rules.principal(body.actor_id), event.seq)


def _settle(tx: Tx, room_id: str, actor_id: str, seq: int) -> None:
    tx.run(SQL["settle"], room_id=room_id, actor_id=actor_id, seq=seq)
    tx.forget(room_id, "losses", actor_id)


FOLDS = (lost, regained, notified, left)
