"""`messages.search`: find what was said, noted or handed over in a room, and its jobs, tasks, cards, paths and files.

The index of words is a deferred projection. What it does not hold yet is at most `BACKLOG` events (see `Tx`); those are
read and compared one by one, so that a search finds what was just said and never has to write.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.blobs.events import BlobAdded
from tallystick.capabilities.jobs.events import JobBody, JobCompleted, JobCreated, JobQuestioned
from tallystick.capabilities.messages.contract import SearchHit, SearchHits, SearchMessages
from tallystick.capabilities.messages.events import MessageSent
from tallystick.capabilities.messages.model import Searched
from tallystick.capabilities.messages.queries import SQL
from tallystick.capabilities.reservations.events import ReservationGranted
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.events import NoteAdded
from tallystick.capabilities.tasks.events import CardCreated, CardUpdated, TaskCreated, TaskUpdated
from tallystick.capabilities.turns.events import StickPassed, StickReleased
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import from_wire
from tallystick.kernel.envelope import Body, Event
from tallystick.kernel.operation import JsonObject, Reach, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.capability import fold
from tallystick.ledger.contract import SEQ_LIMIT
from tallystick.ledger.tx import Tx

Searchable: TypeAlias = (
    MessageSent
    | NoteAdded
    | StickReleased
    | StickPassed
    | JobBody
    | TaskCreated
    | TaskUpdated
    | CardCreated
    | CardUpdated
    | ReservationGranted
    | BlobAdded
)
SEARCHED: Mapping[type[Searchable], Searched] = {
    MessageSent: "message",
    NoteAdded: "note",
    StickReleased: "handoff",
    StickPassed: "handoff",
    JobCreated: "job",
    JobQuestioned: "job",
    JobCompleted: "job",
    TaskCreated: "task",
    TaskUpdated: "task",
    CardCreated: "card",
    CardUpdated: "card",
    ReservationGranted: "path",
    BlobAdded: "file",
}
"""What is searched -> what a searcher calls it."""
_NAMES: Mapping[str, Searched] = {body.kind: name for body, name in SEARCHED.items()}

_EVERY: Sequence[Searched] = sorted(set(SEARCHED.values()))

_WORD = re.compile(r"[^\W_]+")
_LONGEST_WORD = 64
_LONGEST_TEXT = 100_000
_WIDTH = 160
_BEFORE = 40


def words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text[:_LONGEST_TEXT]).casefold()
    return sorted({word[:_LONGEST_WORD] for word in _WORD.findall(folded)})


def text_of(body: Searchable) -> str:
    """The text of an event that people search for."""
    match body:
        case MessageSent(text=text) | NoteAdded(body=text):
            return text
        case StickReleased(handoff=handoff) | StickPassed(handoff=handoff):
            return "\n".join(_lines(handoff))
        case JobCreated():
            return f"{body.job_id} {body.title}\n{body.prompt}"
        case JobCompleted():
            return f"{body.job_id} {body.message}\n{body.summary or ''}"
        case JobBody():
            return f"{body.job_id} {body.message}"
        case _:
            return _of_things(body)


def _of_things(body: Searchable) -> str:
    match body:
        case TaskCreated() | TaskUpdated():
            return " ".join(str(each) for each in (body.task_id, body.title, body.description) if each)
        case CardCreated() | CardUpdated():
            return " ".join(str(each) for each in (body.card_id, body.title, body.body) if each)
        case ReservationGranted():
            return body.path
        case BlobAdded():
            return body.name
        case _:
            return ""


def _ref(body: Body | None) -> str | None:
    match body:
        case JobBody(job_id=ref) | TaskCreated(task_id=ref) | TaskUpdated(task_id=ref):
            return ref
        case CardCreated(card_id=ref) | CardUpdated(card_id=ref):
            return ref
        case _:
            return None


def _text(event: Event) -> str:
    body = event.content
    return text_of(body) if isinstance(body, Searchable) else ""


def _lines(handoff: JsonObject) -> list[str]:
    artifacts: list[JsonObject] = handoff.get("artifacts") or []
    return [
        str(handoff["status"]),
        str(handoff["next_action"]),
        *(handoff.get("open_questions") or []),
        *(handoff.get("do_not") or []),
        *(f"{artifact['path']} {artifact.get('note') or ''}" for artifact in artifacts),
    ]


def matches(text: str, terms: Sequence[str]) -> bool:
    """Whether for every term some word begins with it: what the index of either engine says."""
    found = words(text)
    return all(any(word.startswith(term) for word in found) for term in terms)


def may_match(body: str, terms: Sequence[str]) -> bool:
    """False when an event's JSON text shows that it cannot match: cutting it into words takes ten times as long."""
    if not body.isascii() or "\\u" in body:
        return True
    lower = body.lower()
    return all(term in lower for term in terms)


def _begins(word: str, terms: tuple[str, ...]) -> bool:
    return any(part.startswith(terms) for part in words(word))


def snippet(text: str, terms: Sequence[str]) -> str:
    """The surroundings of the first hit on one line, every hit in it marked «so»."""
    flat = unicodedata.normalize("NFC", " ".join(text.split()))
    hits = [found for found in _WORD.finditer(flat) if _begins(found[0], tuple(terms))]
    start = max(0, hits[0].start() - _BEFORE) if hits else 0
    end = start + _WIDTH
    pieces, last = list[str](), start
    for hit in hits:
        if hit.start() >= end:
            break
        pieces += [flat[last : hit.start()], f"«{hit[0][:_WIDTH]}»"]
        last = hit.end()
    pieces.append(flat[last:end])
    return ("…" if start else "") + "".join(pieces) + ("…" if max(last, end) < len(flat) else "")


TERMS_LIMIT = 20
AT_ONCE = 500


@operation(
    "messages.search",
    reach=Reach.READ,
    examples=({"room_id": "ROOM", "query": "parser timeout", "kinds": ["handoff"]},),
)
def search(tx: Tx, me: Caller, ask: SearchMessages) -> SearchHits:
    """Search everything in the room: messages, notes and handoffs, jobs, tasks, cards, paths and files.

    Newest first, with the hits marked in a snippet.
    """
    room = rooms.room(tx, ask.room_id)
    terms = words(ask.query)[:TERMS_LIMIT]
    kinds = [*(ask.kinds or _EVERY)]
    if not terms or not kinds:
        return SearchHits(hits=[])
    by = agents.principal_named(tx, room.room_id, ask.by) if ask.by else ""
    since = from_wire(ask.since_ts) if ask.since_ts else 0
    until = from_wire(ask.until_ts) if ask.until_ts else SEQ_LIMIT

    def fits(event: Event) -> bool:
        return (not by or event.by == by) and since <= event.ts < until

    found = [*islice(filter(fits, _not_indexed(tx, room.room_id, terms, kinds)), ask.limit)]
    if len(found) < ask.limit:
        found += tx.all(
            SQL["search"],
            Event,
            room_id=room.room_id,
            # Terms are letters and digits only, so neither engine's query language can be reached from a query.
            fts=" AND ".join(f'"{term}"*' for term in terms),
            tsquery=" & ".join(f"'{term}':*" for term in terms),
            **{f"kind_{place}": kinds[place % len(kinds)] for place in range(len(_EVERY))},
            by=by,
            since=since,
            until=until,
            limit=ask.limit - len(found),
        )
    return SearchHits(hits=[_hit(event, terms) for event in found])


def _not_indexed(tx: Tx, room_id: str, terms: Sequence[str], kinds: Sequence[str]) -> Iterator[Event]:
    """What matches among the events that are not in the index yet, newest first."""
    head = tx.head(room_id)
    wanted = [kind for kind, name in _NAMES.items() if name in kinds]
    before = head.seq + 1
    while before > head.deferred_seq:
        page = reading.before(tx, room_id, before, kinds=wanted, limit=AT_ONCE)
        for event in reversed(page):
            if event.seq <= head.deferred_seq:
                return
            if may_match(event.body, terms) and matches(_text(event), terms):
                yield event
        before = page[0].seq if len(page) == AT_ONCE else 0


def _hit(event: Event, terms: list[str]) -> SearchHit:
    return SearchHit(
        kind=_NAMES[event.kind],
        ref=_ref(event.content),
        event_id=event.id,
        seq=event.seq,
        by=event.by,
        ts=moment(event.ts),
        snippet=snippet(_text(event), terms),
    )


@fold(*SEARCHED)
def _indexed(tx: Tx, event: Event, body: Searchable) -> None:
    tx.run(
        SQL["index_text"],
        room_id=event.room_id,
        seq=event.seq,
        kind=SEARCHED[type(body)],
        author=event.by,
        ts=event.ts,
        words=" ".join(words(text_of(body))),
    )


DEFERRED_FOLDS = (_indexed,)
"""Cutting a text into words takes longer than writing it down, so no sender waits for it."""
DEFERRED_TABLES = ("texts",)
