"""`reservations.replay`: what was reserved right after any event of a room, folded from the ledger alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from msgspec import structs

from tallystick.capabilities.reservations.contract import Replayed, ReplayedReservation
from tallystick.capabilities.reservations.model import Kind, Mode
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant, from_wire
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import Moment, as_record, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.contract import Replay
from tallystick.ledger.tx import Tx

LEFT, CLOSED = "actor.remove", "x.tally.stick.close"
KINDS = (Kind.GRANT, Kind.RENEW, Kind.RELEASE, Kind.EXPIRE, LEFT, CLOSED)


def held(events: Iterable[Event], at: Instant) -> list[ReplayedReservation]:
    """What was held after these events, by path; what had run out by then counts as over, written down or not."""
    found: dict[str, ReplayedReservation] = {}
    for event in events:
        data = event.data
        match event.kind:
            case Kind.GRANT:
                view = _granted(event)
                found[view.reservation_id] = view
            case Kind.RENEW:
                reservation_id = cast("str", data["reservation_id"])
                if before := found.get(reservation_id):
                    found[reservation_id] = structs.replace(before, **_term(event))
            case Kind.RELEASE | Kind.EXPIRE:
                found.pop(cast("str", data["reservation_id"]), None)
            case _ if event.kind == LEFT:
                found = {name: each for name, each in found.items() if each.agent_id != data["actor_id"]}
            case _:
                found = {}
    return sorted((each for each in found.values() if each.until > at), key=lambda each: (each.path, each.fence))


def _granted(event: Event) -> ReplayedReservation:
    named = {name: event.data[name] for name in ("reservation_id", "agent_id")}
    return as_record(ReplayedReservation, {**named, "fence": event.seq, "granted_at": event.ts, **_term(event)})


def _term(event: Event) -> dict[str, object]:
    """What a grant sets and a renewal may change."""
    named = {name: event.data[name] for name in ("path", "task_id")}
    until = Moment(from_wire(cast("str", event.data["until"])))
    return {**named, "mode": Mode(cast("str", event.data["mode"])), "until": until}


@operation("reservations.replay", examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: Replay) -> Replayed:
    """Show who had reserved what right after one of the room's events. How alive each holder was is not on record."""
    room = rooms.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    events = reading.until(tx, room.room_id, event.seq, kinds=KINDS)
    return Replayed(room_id=room.room_id, seq=event.seq, ts=moment(event.ts), reservations=held(events, event.ts))
