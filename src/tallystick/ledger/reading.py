"""Looking back: events by cursor and filter, at a cost that depends on what is returned, not on what is stored."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import msgspec

from tallystick.kernel.clock import Instant, from_wire
from tallystick.kernel.envelope import Event
from tallystick.ledger.errors import AmbiguousCursor, EventNotFound
from tallystick.ledger.tx import SQL, Tx

if TYPE_CHECKING:
    from tallystick.ledger.contract import Since
    from tallystick.storage.port import Value

PAGE = 500


class Place(msgspec.Struct, frozen=True, kw_only=True):
    seq: int


class EventFilter(TypedDict, total=False):
    """Which events: of these kinds, by this author, of this task; all where nothing is said."""

    kinds: Sequence[str]
    by: str | None
    task_id: str | None


def _room_id(*, room_id: str) -> str:
    return room_id


def _count(*, rooms: int) -> int:
    return rooms


def every_room(tx: Tx) -> list[str]:
    return tx.all(SQL["rooms"], _room_id)


def count_rooms(tx: Tx) -> int:
    return tx.one(SQL["count_rooms"], _count) or 0


def closed_rooms(tx: Tx, *, until: Instant) -> list[str]:
    """Closed rooms that nobody has written to since a moment, and that are still here."""
    return tx.all(SQL["closed_until"], _room_id, until=until)


def newest_time(tx: Tx) -> Instant:
    """When any room was last written to, by the clock that was in force then."""
    return tx.one(SQL["newest"], _newest) or 0


def _newest(*, ts: int | None) -> Instant:
    return ts or 0


def lagging_room(tx: Tx, *, lag: int, until: Instant) -> str | None:
    """A room that was last written to up to a moment, and whose deferred projections lack so many events."""
    return tx.one(SQL["lagging"], _room_id, lag=lag, until=until)


def lock_every_room(tx: Tx) -> list[str]:
    """Let no room move until this transaction ends."""
    return tx.all(SQL["lock_all"], _room_id)


def since(tx: Tx, room_id: str, seq: int, *, limit: int, **wanted: Unpack[EventFilter]) -> list[Event]:
    """Up to `limit` events after `seq`, oldest first."""
    first, *more = _runs(tx, "since", wanted, room_id=room_id, seq=seq, limit=limit)
    return list(heapq.merge(first, *more, key=lambda event: event.seq))[:limit] if more else first


def before(tx: Tx, room_id: str, seq: int, *, limit: int, **wanted: Unpack[EventFilter]) -> list[Event]:
    """The last `limit` events before `seq`, oldest first."""
    first, *more = _runs(tx, "before", wanted, room_id=room_id, seq=seq, limit=limit)
    newest = list(heapq.merge(first, *more, key=lambda event: -event.seq))[:limit] if more else first
    return newest[::-1]


def _runs(tx: Tx, way: str, wanted: EventFilter, **place: Value) -> list[list[Event]]:
    """What fits, one run for each kind asked for; each is found through the narrowest index there is."""
    kinds = sorted(set(wanted.get("kinds", ()))) or [""]
    by, task_id = wanted.get("by") or "", wanted.get("task_id") or ""
    if task_id:
        query = SQL[f"{way}_of_task"]
        return [tx.all(query, Event, **place, task_id=task_id, by=by, kind=kind) for kind in kinds]
    if by:
        return [tx.all(SQL[f"{way}_by"], Event, **place, by=by, kind=kind) for kind in kinds]
    if kinds != [""]:
        return [tx.all(SQL[f"{way}_of_kind"], Event, **place, kind=kind) for kind in kinds]
    return [tx.all(SQL[way], Event, **place)]


def until(tx: Tx, room_id: str, seq: int, *, kinds: Sequence[str]) -> Iterator[Event]:
    """Every event of these kinds up to `seq`, oldest first, for folding a past moment."""
    cursor = 0
    while page := since(tx, room_id, cursor, kinds=kinds, limit=PAGE):
        for event in page:
            if event.seq > seq:
                return
            yield event
        cursor = page[-1].seq


def every_event(tx: Tx, room_id: str) -> Iterator[Event]:
    """A room from the start, for whoever goes through all of it."""
    return tx.stream(SQL["whole"], Event, room_id=room_id)


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


def start(tx: Tx, room_id: str, cursor: Since) -> int | None:
    """The seq after which to begin; None when the cursor names no place."""
    given = [place for place in (cursor.since_seq, cursor.since_event_id, cursor.since_ts) if place is not None]
    if len(given) > 1:
        raise AmbiguousCursor
    if cursor.since_event_id is not None:
        return seq_of_event(tx, room_id, cursor.since_event_id)
    if cursor.since_ts is not None:
        return _seq_at(tx, room_id, from_wire(cursor.since_ts))
    return cursor.since_seq


def _seq_at(tx: Tx, room_id: str, ts: Instant) -> int:
    """The seq after which every event is younger than `ts`."""
    place = tx.one(SQL["last_until"], Place, room_id=room_id, ts=ts)
    return place.seq if place else 0
