"""`reservations.replay`: what was reserved right after any event of a room, folded from the ledger alone."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.reservations.contract import ReplayedReservation, ReplayedReservations
from tallystick.capabilities.reservations.events import (
    ReservationExpired,
    ReservationGranted,
    ReservationReleased,
    ReservationRenewed,
)
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.events import StickClosed
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import moment, operation
from tallystick.ledger import reading
from tallystick.ledger.contract import Replay
from tallystick.ledger.tx import Tx

_EVENTS = (
    ReservationGranted,
    ReservationRenewed,
    ReservationReleased,
    ReservationExpired,
    MemberRemoved,
    StickClosed,
)


def held(events: Iterable[Event], at: Instant) -> list[ReplayedReservation]:
    """What was held after these events, by path; what had run out by then counts as over, written down or not."""
    found: dict[str, ReplayedReservation] = {}
    for event in events:
        match event.content:
            case ReservationGranted() as body:
                found[body.reservation_id] = _granted(event, body)
            case ReservationRenewed() as body if before := found.get(body.reservation_id):
                found[body.reservation_id] = structs.replace(
                    before, path=body.path, mode=body.mode, task_id=body.task_id, until=body.until
                )
            case ReservationReleased(reservation_id=ended) | ReservationExpired(reservation_id=ended):
                found.pop(ended, None)
            case MemberRemoved(actor_id=agent_id):
                found = {name: each for name, each in found.items() if each.agent_id != agent_id}
            case StickClosed():
                found = {}
            case _:
                pass
    return sorted((each for each in found.values() if each.until > at), key=lambda each: (each.path, each.fence))


def _granted(event: Event, body: ReservationGranted) -> ReplayedReservation:
    return ReplayedReservation(
        reservation_id=body.reservation_id,
        path=body.path,
        agent_id=body.agent_id,
        mode=body.mode,
        task_id=body.task_id,
        fence=event.seq,
        granted_at=moment(event.ts),
        until=body.until,
    )


@operation("reservations.replay", examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: Replay) -> ReplayedReservations:
    """Show who had reserved what right after one of the room's events. How alive each holder was is not on record."""
    room = rooms.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    events = reading.until(tx, room.room_id, event.seq, kinds=[body.kind for body in _EVENTS])
    return ReplayedReservations(
        room_id=room.room_id, seq=event.seq, ts=moment(event.ts), reservations=held(events, event.ts)
    )
