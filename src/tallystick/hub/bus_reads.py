"""What the bus needs to see of rooms and actions: what is new, whose turn it is to be handed something, and when."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.events import ActionResultReported, ActionSubmitted
from tallystick.capabilities.actions.model import SubmittedAction
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger.reading import before, since
from tallystick.ledger.tx import Tx

PAGE = 500


class DueActions(msgspec.Struct, frozen=True, kw_only=True):
    """A room's actions after a place."""

    results: Sequence[Event]
    due: Mapping[str, SubmittedAction | None]
    """For each agent that something changed for: the action that may be handed to it now."""
    cursor: int
    more: bool


def look(tx: Tx, room_id: str, after: int, *, attached: Collection[str], fresh: Collection[str]) -> DueActions:
    """What those who are attached should get after `after`; `fresh` ones are looked at whatever happened."""
    head = tx.head(room_id).seq
    if head <= after and not fresh:
        return DueActions(results=(), due={}, cursor=after, more=False)
    # Of every kind: what is new since the last look is little, and one look at it cheaper than one for each kind.
    page = since(tx, room_id, after, limit=PAGE)
    results = [event for event in page if event.kind == ActionResultReported.kind]
    submitted = [event.read(ActionSubmitted) for event in page if event.kind == ActionSubmitted.kind]
    moved = {event.by for event in results} | {body.dst for body in submitted}
    due = dict[str, SubmittedAction | None]()
    for agent in {*fresh, *(moved & set(attached))}:
        action = rules.deliverable(queries.heads(tx, room_id, agent))
        due[agent] = queries.written(tx, room_id, action) if action else None
    more = len(page) == PAGE
    return DueActions(results=results, due=due, cursor=page[-1].seq if more else max(head, after), more=more)


def results(tx: Tx, room_id: str, requester: str, after: int, until: int) -> list[Event]:
    """Every result of a requester's actions in a stretch of the ledger."""
    found = list[Event]()
    while after < until:
        page = since(tx, room_id, after, kinds=[ActionResultReported.kind], limit=PAGE)
        found += [event for event in page if event.seq <= until and event.read(ActionResultReported).dst == requester]
        after = page[-1].seq if len(page) == PAGE else until
    return found


def head(tx: Tx, room_id: str) -> int:
    return tx.head(room_id).seq


def changed_at(tx: Tx, room_ids: Sequence[str]) -> Mapping[str, Instant]:
    """When something last happened in some rooms."""
    return {room_id: tx.head(room_id).ts for room_id in room_ids}


def page(tx: Tx, room_id: str, *, since_seq: int | None, kinds: Sequence[str], limit: int) -> tuple[list[Event], int]:
    """Events after a place, or the newest ones, with the cursor to go on from."""
    last = tx.head(room_id).seq
    if since_seq is None:
        return before(tx, room_id, last + 1, kinds=kinds, limit=limit), last
    events = since(tx, room_id, since_seq, kinds=kinds, limit=limit)
    return events, events[-1].seq if len(events) == limit else max(last, since_seq)
