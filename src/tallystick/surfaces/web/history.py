"""`/rooms/<id>/history` and `/replay`: the whole ledger of a room, any event's envelope, any past moment."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tallystick.capabilities.jobs.views import ReplayedJobs
from tallystick.capabilities.messages.contract import SearchHit, SearchHits
from tallystick.capabilities.reservations.contract import ReplayedReservations
from tallystick.capabilities.rooms.contract import ReplayedRoom
from tallystick.kernel import hints
from tallystick.kernel.errors import TallyError
from tallystick.ledger.contract import Envelope, Events, RoomVerdict, Verified
from tallystick.surfaces.web import page, rows
from tallystick.surfaces.web.page import PageReader, PageRequest, PageView

LIMIT = 100
VERIFIED = 2_000
"""A longer ledger is checked on request only."""
RAW = 200_000


def view(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    text = asked.word("q")
    problem: TallyError | None = None
    hits: Sequence[SearchHit] = []
    events: Sequence[Envelope] = []
    try:
        if text:
            hits = _search(snapshot, asked, text)
        else:
            events = _events(snapshot, asked)
    except TallyError as refused:
        problem = refused
    context: dict[str, object] = {
        **around.context,
        "events": events,
        "rows": [rows.row(event) for event in events],
        "hits": hits,
        "text": text,
        "older": events[0].seq if len(events) == LIMIT and events[0].seq > 1 else None,
        "kinds": _kinds(snapshot, asked.room_id),
        "agents": around.agents,
        "asked": asked,
        "verdict": _verdict(snapshot, asked, around.room.head),
        "problem": problem.payload(hints.label) if problem else None,
    }
    return PageView(template="history.html", context=context)


def event(snapshot: PageReader, asked: PageRequest) -> PageView:
    """One event's envelope, word for word."""
    around = page.framed(snapshot, asked)
    seq = int(asked.item) if asked.item.isdecimal() and len(asked.item) < 19 else 0
    found = _event(snapshot, asked.room_id, max(seq, 1))
    envelope = found if found and found.seq == seq else None
    raw = json.dumps(envelope.to_data(), indent=2, ensure_ascii=False) if envelope else ""
    shown = rows.with_receipts(snapshot, asked.room_id, [rows.row(envelope)]) if envelope else []
    context: dict[str, object] = {
        **around.context,
        "seq": seq,
        "rows": shown,
        "raw": raw[:RAW],
        "cut": len(raw) > RAW,
        "envelope": envelope,
    }
    return PageView(template="event.html", context=context)


def _search(snapshot: PageReader, asked: PageRequest, text: str) -> Sequence[SearchHit]:
    given = {"by": asked.word("by"), "since_ts": asked.word("since"), "until_ts": asked.word("until")}
    named = {name: value for name, value in given.items() if value}
    return snapshot.read("messages.search", SearchHits, room_id=asked.room_id, query=text, limit=100, **named).hits


def _events(snapshot: PageReader, asked: PageRequest) -> Sequence[Envelope]:
    """The newest events that fit, oldest first."""
    kind, by, task, since, until = (asked.word(name) for name in ("kind", "by", "task", "since", "until"))
    given: dict[str, object] = {"by": by, "task_id": task, "since_ts": since}
    end = asked.number("before") or (_end(snapshot, asked.room_id, until) if until else None)
    named = {name: value for name, value in {**given, "before_seq": end}.items() if value}
    named |= {"newest": True, "limit": LIMIT, "kinds": [kind] if kind else []}
    return snapshot.read("events.list", Events, room_id=asked.room_id, **named).events


def _end(snapshot: PageReader, room_id: str, until: str) -> int:
    """The first seq after a time."""
    after = snapshot.read("events.list", Events, room_id=room_id, since_ts=until, limit=1)
    return after.events[0].seq if after.events else after.head + 1


def _kinds(snapshot: PageReader, room_id: str) -> list[str]:
    """The kinds to choose from: those among the newest events."""
    newest = snapshot.read("events.list", Events, room_id=room_id, newest=True, limit=200).events
    return sorted({each.kind for each in newest})


def _verdict(snapshot: PageReader, asked: PageRequest, head: int) -> RoomVerdict | None:
    """What the chain says: asked at once where that is quick, and otherwise only when the reader wants it."""
    if head > VERIFIED and not asked.word("verify"):
        return None
    return snapshot.read("events.verify", Verified, room_id=asked.room_id).rooms[0]


JOBS = 30


def replay(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    head = around.room.head
    seq = max(1, min(asked.number("seq") or head, head))
    moment = {"room_id": asked.room_id, "seq": seq}
    then = snapshot.read("rooms.replay", ReplayedRoom, **moment)
    handoff = _event(snapshot, asked.room_id, then.handoff_event_seq)
    found = rows.newest(snapshot, asked.room_id, limit=8, before=seq + 1)
    context: dict[str, object] = {
        **around.context,
        "seq": seq,
        "then": then,
        "event": _event(snapshot, asked.room_id, seq),
        "handoff": handoff,
        "rows": found,
        "held": snapshot.read("reservations.replay", ReplayedReservations, **moment).reservations,
        "work": snapshot.read("jobs.replay", ReplayedJobs, **moment, limit=JOBS),
    }
    return PageView(template="replay.html", context=context)


def _event(snapshot: PageReader, room_id: str, seq: int | None) -> Envelope | None:
    """The event with this seq, or the first one after it."""
    if not seq:
        return None
    found = snapshot.read("events.list", Events, room_id=room_id, since_seq=seq - 1, limit=1).events
    return found[0] if found else None
