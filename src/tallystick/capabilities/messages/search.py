"""`messages.search`: find what was said, noted or handed over in a room.

The index of words is a deferred projection. What it does not hold yet is at most `BACKLOG` events (see `Tx`); those are
read and compared one by one, so that a search finds what was just said and never has to write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from tallystick.capabilities.messages import texts
from tallystick.capabilities.messages.contract import Hit, Hits, SearchMessages
from tallystick.capabilities.messages.queries import SQL
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import from_wire
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import moment, operation
from tallystick.ledger import reading
from tallystick.ledger.contract import SEQ_LIMIT
from tallystick.ledger.tx import Tx

TERMS_LIMIT = 20
AT_ONCE = 500


@operation("messages.search", examples=({"room_id": "ROOM", "query": "parser timeout", "kinds": ["handoff"]},))
def search(tx: Tx, me: Caller, ask: SearchMessages) -> Hits:
    """Search the room's messages, notes and handoffs; newest first, with the hits marked in a snippet."""
    room = rooms.room(tx, ask.room_id)
    terms = texts.words(ask.query)[:TERMS_LIMIT]
    kinds = [*(ask.kinds or sorted(set(texts.SEARCHED.values())))]
    if not terms or not kinds:
        return Hits(hits=[])
    since = from_wire(ask.since_ts) if ask.since_ts else 0
    until = from_wire(ask.until_ts) if ask.until_ts else SEQ_LIMIT

    def fits(event: Event) -> bool:
        return (not ask.by or event.by == ask.by) and since <= event.ts < until

    found = [*islice(filter(fits, _not_indexed(tx, room.room_id, terms, kinds)), ask.limit)]
    if len(found) < ask.limit:
        found += tx.all(
            SQL["search"],
            Event,
            room_id=room.room_id,
            # Terms are letters and digits only, so neither engine's query language can be reached from a query.
            fts=" AND ".join(f'"{term}"*' for term in terms),
            tsquery=" & ".join(f"'{term}':*" for term in terms),
            kind_1=kinds[0],
            kind_2=kinds[1 % len(kinds)],
            kind_3=kinds[2 % len(kinds)],
            by=ask.by or "",
            since=since,
            until=until,
            limit=ask.limit - len(found),
        )
    return Hits(hits=[_hit(event, terms) for event in found])


def _not_indexed(tx: Tx, room_id: str, terms: Sequence[str], kinds: Sequence[str]) -> Iterator[Event]:
    """What matches among the events that are not in the index yet, newest first."""
    head = tx.head(room_id)
    wanted = [kind for kind, name in texts.SEARCHED.items() if name in kinds]
    before = head.seq + 1
    while before > head.deferred_seq:
        page = reading.before(tx, room_id, before, kinds=wanted, limit=AT_ONCE)
        for event in reversed(page):
            if event.seq <= head.deferred_seq:
                return
            if texts.may_match(event.body, terms) and texts.matches(texts.content(event), terms):
                yield event
        before = page[0].seq if len(page) == AT_ONCE else 0


def _hit(event: Event, terms: list[str]) -> Hit:
    return Hit(
        kind=texts.SEARCHED[event.kind],
        event_id=event.id,
        seq=event.seq,
        by=event.by,
        ts=moment(event.ts),
        snippet=texts.snippet(texts.content(event), terms),
    )
