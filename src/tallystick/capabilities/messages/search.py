"""`messages.search`: find what was said, noted or handed over in a room."""

from __future__ import annotations

from tallystick.capabilities.messages import texts
from tallystick.capabilities.messages.contract import Hit, Hits, SearchMessages
from tallystick.capabilities.messages.queries import SQL
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import from_wire
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import operation
from tallystick.ledger.contract import SEQ_LIMIT
from tallystick.ledger.tx import Tx

TERMS_LIMIT = 20


@operation("messages.search", examples=({"room_id": "ROOM", "query": "parser timeout", "kinds": ["handoff"]},))
def search(tx: Tx, me: Caller, ask: SearchMessages) -> Hits:
    """Search the room's messages, notes and handoffs; newest first, with the hits marked in a snippet."""
    room = rooms.room(tx, ask.room_id)
    terms = texts.words(ask.query)[:TERMS_LIMIT]
    kinds = [*(ask.kinds or sorted(set(texts.SEARCHED.values())))]
    if not terms or not kinds:
        return Hits(hits=[])
    found = tx.all(
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
        since=from_wire(ask.since_ts) if ask.since_ts else 0,
        until=from_wire(ask.until_ts) if ask.until_ts else SEQ_LIMIT,
        limit=ask.limit,
    )
    return Hits(hits=[_hit(event, terms) for event in found])


def _hit(event: Event, terms: list[str]) -> Hit:
    return Hit.model_construct(
        kind=texts.SEARCHED[event.kind],
        event_id=event.id,
        seq=event.seq,
        by=event.by,
        ts=event.ts,
        snippet=texts.snippet(texts.content(event), terms),
    )
