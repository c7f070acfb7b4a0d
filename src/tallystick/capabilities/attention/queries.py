"""What the person put aside, written and read, and everything that may wait for them, read for the rules."""

from __future__ import annotations

from tallystick.capabilities.attention.events import ItemRestored, ItemSetAside
from tallystick.capabilities.attention.rules import OwedMessage, RoomFacts, SeenIncursion, UnacceptedMessage
from tallystick.capabilities.jobs import radar
from tallystick.capabilities.jobs.contract import ShowRadar
from tallystick.capabilities.jobs.views import RadarJob
from tallystick.capabilities.messages import queries as messages
from tallystick.capabilities.permissions import operations as permissions
from tallystick.capabilities.reservations import queries as reservations
from tallystick.capabilities.reservations.events import IncursionRecorded
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.turns.operations import state_for
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.attention")
PERSON = "user"
"""Every room has one person, whoever asks for their list."""
FEW = 10
LISTED = 200
"""Messages or jobs of one room that are listed at most."""


def facts(tx: Tx, me: Caller, room_id: str) -> RoomFacts:
    room = rooms.room(tx, room_id)
    counts = messages.inbox(tx, room_id, PERSON)
    owed = messages.delivered(tx, room_id, PERSON, 0, owed=True, limit=LISTED) if counts.unacked else []
    jobs = _jobs(tx, room_id)
    return RoomFacts(
        room_id=room_id,
        now=tx.now,
        stick=state_for(tx, me, room_id),
        counts=counts,
        owed=[OwedMessage(event=each.event) for each in owed],
        unread=messages.unread_plain(tx, room_id, PERSON, counts.read_seq) if counts.unread else 0,
        newest=messages.newest_plain(tx, room_id, PERSON, counts.read_seq) if counts.unread else None,
        jobs=jobs,
        said_at={each.last.ref: _time_of(tx, room_id, each.last.ref) for each in jobs},
        permissions=permissions.open_requests(tx, room_id),
        unaccepted=[
            UnacceptedMessage(message=each, owing=messages.missing(tx, room_id, each.seq))
            for each in messages.awaiting(tx, room_id, PERSON)
            if each.sent_at + room.policy.ack_overdue_ms <= tx.now
        ],
        incursions=_incursions(tx, room_id),
    )


def _jobs(tx: Tx, room_id: str) -> list[RadarJob]:
    """The jobs that the radar marks. They come first in it: only a page full of them makes a longer one necessary."""
    marked = _marked(tx, room_id, FEW)
    return marked if len(marked) < FEW else _marked(tx, room_id, LISTED)


def _marked(tx: Tx, room_id: str, limit: int) -> list[RadarJob]:
    seen = radar.look(tx, ShowRadar(room_id=room_id, limit=limit, runners_limit=1, offline_limit=0))
    return [each for each in seen.jobs if each.marker]


def _time_of(tx: Tx, room_id: str, ref: str) -> Instant:
    """When the event was written that a job's ref names."""
    return reading.event_at(tx, room_id, int(ref.rpartition("@")[2])).ts


def _incursions(tx: Tx, room_id: str) -> list[SeenIncursion]:
    """Attempts to enter what is still reserved, newest first."""
    found: list[SeenIncursion] = []
    for seq in reservations.open_incursions(tx, room_id):
        event = reading.event_at(tx, room_id, seq)
        found.append(SeenIncursion(seq=seq, at=event.ts, attempt=event.read(IncursionRecorded)))
    return found


@fold(ItemSetAside)
def set_aside(tx: Tx, event: Event, body: ItemSetAside) -> None:
    until = None if body.until is None else int(body.until)
    tx.run(SQL["set_aside"], room_id=event.room_id, item=body.item, until=until, seq=event.seq)


@fold(ItemRestored)
def restored(tx: Tx, event: Event, body: ItemRestored) -> None:
    tx.run(SQL["restore"], room_id=event.room_id, item=body.item)


FOLDS = (set_aside, restored)


def put_aside(tx: Tx, room_id: str) -> set[str]:
    return set(tx.all(SQL["put_aside"], _item, room_id=room_id, now=tx.now))


def _item(*, item: str) -> str:
    return item
