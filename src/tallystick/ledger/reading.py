"""Looking back: events by cursor and filter, at a cost that depends on what is returned, not on what is stored."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger.errors import EventNotFound
from tallystick.ledger.tx import SQL, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    seq: int


def _room_id(*, room_id: str) -> str:
    return room_id


def _count(*, rooms: int) -> int:
    return rooms


def every_room(tx: Tx) -> list[str]:
    return tx.all(SQL["rooms"], _room_id)


def count_rooms(tx: Tx) -> int:
    return tx.one(SQL["count_rooms"], _count) or 0


def lock_every_room(tx: Tx) -> list[str]:
    """Let no room move until this transaction ends."""
    return tx.all(SQL["lock_all"], _room_id)


def since(tx: Tx, room_id: str, seq: int, *, kinds: Sequence[str] = (), limit: int) -> list[Event]:
    """Up to `limit` events after `seq`, oldest first."""
    if not kinds:
        return tx.all(SQL["since"], Event, room_id=room_id, seq=seq, limit=limit)
    runs = [
        tx.all(SQL["since_of_kind"], Event, room_id=room_id, kind=kind, seq=seq, limit=limit)
        for kind in sorted(set(kinds))
    ]
    return list(heapq.merge(*runs, key=lambda event: event.seq))[:limit]


def before(tx: Tx, room_id: str, seq: int, *, kinds: Sequence[str] = (), limit: int) -> list[Event]:
    """The last `limit` events before `seq`, oldest first."""
    if not kinds:
        return tx.all(SQL["before"], Event, room_id=room_id, seq=seq, limit=limit)[::-1]
    runs = [
        tx.all(SQL["before_of_kind"], Event, room_id=room_id, kind=kind, seq=seq, limit=limit)
        for kind in sorted(set(kinds))
    ]
    newest = list(heapq.merge(*runs, key=lambda event: -event.seq))[:limit]
    return newest[::-1]


def event_at(tx: Tx, room_id: str, seq: int) -> Event:
    event = tx.one(SQL["at"], Event, room_id=room_id, seq=seq)
    if event is None:
        raise EventNotFound(f"There is no event {seq} in this room.", room_id=room_id, seq=seq)
    return event


def find_event(tx: Tx, room_id: str, event_id: str) -> Event | None:
    event = tx.one(SQL["by_id"], Event, id=event_id)
    return event if event and event.room_id == room_id else None


def event_by_id(tx: Tx, room_id: str, event_id: str) -> Event:
    event = find_event(tx, room_id, event_id)
    if event is None:
        raise EventNotFound(f"There is no event '{event_id[:80]}' in this room.", room_id=room_id, event_id=event_id)
    return event


def seq_of_event(tx: Tx, room_id: str, event_id: str) -> int:
    return event_by_id(tx, room_id, event_id).seq


def seq_at_time(tx: Tx, room_id: str, ts: Instant) -> int:
    """The seq after which every event is younger than `ts`."""
    place = tx.one(SQL["last_until"], Place, room_id=room_id, ts=ts)
    return place.seq if place else 0
