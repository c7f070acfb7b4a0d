"""What the bus reads of rooms and actions: what is new, and which action each connected agent gets next."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import UNSET

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.events import ActionResultReported, ActionSubmitted
from tallystick.capabilities.actions.model import SubmittedAction
from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.messages.events import MessageKind, MessageSent
from tallystick.capabilities.rooms.events import StickClosed
from tallystick.hub.serving import Serving
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger.reading import before, since
from tallystick.ledger.tx import Tx

PAGE = 500


class DueActions(msgspec.Struct, frozen=True, kw_only=True):
    """A room's actions after a place."""

    results: Sequence[Event]
    """Results and replies, and what says that the room, or somebody's place in it, is over."""
    due: Mapping[str, SubmittedAction | None]
    """For each agent that something changed for: the action that may be handed to it now."""
    cursor: int
    more: bool


async def due_actions(
    serving: Serving, room_id: str, after: int, *, attached: Collection[str], fresh: Collection[str]
) -> DueActions:
    """What the attached agents should get after `after`; for the `fresh` ones it is read whatever happened."""
    return await serving.look(lambda tx: _due_actions(tx, room_id, after, attached, fresh))


def _due_actions(tx: Tx, room_id: str, after: int, attached: Collection[str], fresh: Collection[str]) -> DueActions:
    head = tx.head(room_id).seq
    if head <= after and not fresh:
        return DueActions(results=(), due={}, cursor=after, more=False)
    # Of every kind: there is little since the last read, and one query for it is cheaper than one for each kind.
    page = since(tx, room_id, after, limit=PAGE)
    results = [event for event in page if event.kind in PUSHED]
    submitted = [event.read(ActionSubmitted) for event in page if event.kind == ActionSubmitted.kind]
    reported = {event.by for event in results if event.kind == ActionResultReported.kind}
    moved = reported | {body.dst for body in submitted}
    due = dict[str, SubmittedAction | None]()
    for agent in {*fresh, *(moved & set(attached))}:
        action = rules.deliverable(queries.heads(tx, room_id, agent))
        due[agent] = queries.written(tx, room_id, action) if action else None
    more = len(page) == PAGE
    return DueActions(results=results, due=due, cursor=page[-1].seq if more else max(head, after), more=more)


PUSHED = (ActionResultReported.kind, ActionSubmitted.kind, MessageSent.kind, MemberRemoved.kind, StickClosed.kind)
"""The kinds of which some events go to connections unasked."""


def concerns(event: Event, agent: str) -> bool:
    """Whether an event goes to an agent's connection as it is: what became of its requests, and its own end there.

    A reply that was submitted as an action goes there as that; its message says the same once more.
    """
    match event.content:
        case ActionResultReported(dst=dst):
            return dst == agent
        case ActionSubmitted(message_kind=MessageKind.REPLY, dst=dst):
            return dst == agent
        case MessageSent(conversation=about, recipients=recipients) if about is not UNSET:
            return about.kind is MessageKind.REPLY and about.action_id is UNSET and agent in recipients
        case MemberRemoved(actor_id=gone):
            return gone == agent
        case StickClosed():
            return True
        case _:
            return False


async def results(serving: Serving, room_id: str, requester: str, after: int, until: int) -> list[Event]:
    """Every result of a requester's actions in a stretch of the ledger, and every reply to one."""
    return await serving.look(lambda tx: _results(tx, room_id, requester, after, until))


def _results(tx: Tx, room_id: str, requester: str, after: int, until: int) -> list[Event]:
    found = list[Event]()
    while after < until:
        page = since(tx, room_id, after, kinds=PUSHED, limit=PAGE)
        found += [each for each in page if each.seq <= until and concerns(each, requester)]
        after = page[-1].seq if len(page) == PAGE else until
    return found


async def head(serving: Serving, room_id: str) -> int:
    return await serving.look(lambda tx: tx.head(room_id).seq)


async def changed_at(serving: Serving, room_ids: Sequence[str]) -> Mapping[str, Instant]:
    """When something last happened in some rooms."""
    return await serving.look(lambda tx: {room_id: tx.head(room_id).ts for room_id in room_ids})


async def page(
    serving: Serving, room_id: str, *, since_seq: int | None, kinds: Sequence[str], limit: int
) -> tuple[list[Event], int]:
    """Events after a place, or the newest ones, with the cursor to go on from."""

    def read(tx: Tx) -> tuple[list[Event], int]:
        last = tx.head(room_id).seq
        if since_seq is None:
            return before(tx, room_id, last + 1, kinds=kinds, limit=limit), last
        events = since(tx, room_id, since_seq, kinds=kinds, limit=limit)
        return events, events[-1].seq if len(events) == limit else max(last, since_seq)

    return await serving.look(read)
