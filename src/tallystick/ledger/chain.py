"""Verification: that a room's events are all there, in order, and unchanged since they were written."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tallystick.kernel.envelope import GENESIS, Event
from tallystick.ledger.tx import SQL, Head, Tx
from tallystick.storage.errors import StoreDamaged


class ChainVerdict(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    events: int
    hash: str
    bad_seq: int | None = None
    problem: str = ""


def flaw(event: Event, seq: int, prev_hash: str) -> str:
    """What is wrong with an event that should stand at `seq` after `prev_hash`; empty when nothing is."""
    if event.seq != seq:
        return f"expected seq {seq}, found {event.seq}: an event is missing or was moved"
    if event.prev_hash != prev_hash:
        return "prev_hash is not the hash of the event before"
    try:
        seal = event.seal()
    except (TypeError, ValueError, OverflowError, OSError, AttributeError):
        return "the event holds what Tallystick never writes"  # such as a time beyond the calendar
    return "" if event.hash == seal else "the event was changed after it was written"


def check(room_id: str, events: Iterable[Event], head: Head | None) -> ChainVerdict:
    seq, last = 0, GENESIS
    for event in events:
        if problem := flaw(event, seq + 1, last):
            return ChainVerdict(room_id=room_id, events=seq, hash=last, bad_seq=seq + 1, problem=problem)
        seq, last = event.seq, event.hash
    if head is not None and (head.seq, head.hash) != (seq, last):
        problem = f"the ledger ends at seq {seq}, but seq {head.seq} was acknowledged"
        return ChainVerdict(room_id=room_id, events=seq, hash=last, bad_seq=seq + 1, problem=problem)
    return ChainVerdict(room_id=room_id, events=seq, hash=last)


def check_engine(tx: Tx) -> None:
    """Refuse a store in which the engine itself finds damage: a broken index hides events that are all there."""
    found = tx.all(SQL["engine_problems"], _problem)
    if found:
        raise StoreDamaged(f"The database is damaged: {found[0]}.", problems=found)


def _problem(*, problem: str) -> str:
    return problem


def verify(tx: Tx, room_id: str) -> ChainVerdict:
    head = tx.head(room_id)
    return check(room_id, tx.stream(SQL["whole"], Event, room_id=room_id), head)
