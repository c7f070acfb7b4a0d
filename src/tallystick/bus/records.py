"""Ledger events as bus events: the closed list of types, how each kind's payload looks, and what is read for them.

A record is the event's envelope with its place in the room. Everything that has no type of its own is
`event.appended`. The bus reads what is new in a room, and which action each connected agent gets next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast

import msgspec
from msgspec import UNSET

from tallystick.bus.envelope import HUB, VERSION
from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.events import (
    ActionResultReported,
    ActionSubmitted,
    TaskDoneReported,
    TaskProgressReported,
)
from tallystick.capabilities.actions.model import SubmittedAction
from tallystick.capabilities.agents.events import MemberAdded, MemberRemoved, MemberUpdated
from tallystick.capabilities.messages.events import MessageKind, MessageSent
from tallystick.capabilities.rooms.events import PolicyChanged, RoomCreated, ScopeAttached, SequenceChanged, StickClosed
from tallystick.hub.serving import Serving
from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.envelope import Event
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.json_values import is_object
from tallystick.ledger.reading import before, since
from tallystick.ledger.tx import Tx

Data = Mapping[str, object]
Payload = dict[str, object]

OTHER = "event.appended"
SUBMIT, RESULT = "action.submit", "action.result"

_encode = msgspec.json.Encoder(enc_hook=str).encode

PAGE = 500


def _chosen(data: Data, *names: str) -> Payload:
    return {name: data[name] for name in names if data.get(name) is not None}


def _session(data: Data) -> Payload:
    found = _chosen(data, "reason", "policy", "sequence", "root")
    return {"name": data["title"], **found} if "title" in data else found


def _agent(data: Data) -> Payload:
    return {"id": data["actor_id"], **_chosen(data, "name", "role", "harness", "reason")}


def _message(data: Data) -> Payload:
    about = data.get("conversation")
    conversation = about if is_object(about) else {}
    named = _chosen(conversation, "context_id", "owner_id", "task_id", "parent_message_id", "reply_to_action_id")
    return {
        "text": data["text"],
        "kind": conversation.get("kind") or "user",
        **named,
        **_chosen(conversation, "action_id", "sender_name"),
        **_chosen(data, "reply_to", "priority"),
    }


def _submission(data: Data) -> Payload:
    shared = ("group_id", "context", "task_id")
    action = {name: value for name, value in data.items() if name not in shared}
    return {**_chosen(data, *shared), "actions": [action]}


def _result(data: Data) -> Payload:
    return _chosen(data, "group_id", "action_id", "action_index", "status", "detail", "data")


def _task(data: Data) -> Payload:
    return {**_chosen(data, "task_id", "status", "detail", "summary"), **cast("Payload", data.get("context") or {})}


def _done(data: Data) -> Payload:
    return {**_chosen(data, "task_id", "summary"), **cast("Payload", data.get("context") or {})}


TYPES: Mapping[str, tuple[str, Callable[[Data], Payload]]] = {
    RoomCreated.kind: ("session.created", _session),
    ScopeAttached.kind: ("session.updated", _session),
    PolicyChanged.kind: ("session.updated", _session),
    SequenceChanged.kind: ("session.updated", _session),
    StickClosed.kind: ("session.closed", _session),
    MemberAdded.kind: ("agent.added", _agent),
    MemberUpdated.kind: ("agent.updated", _agent),
    MemberRemoved.kind: ("agent.removed", _agent),
    MessageSent.kind: ("message.created", _message),
    ActionSubmitted.kind: (SUBMIT, _submission),
    ActionResultReported.kind: (RESULT, _result),
    TaskProgressReported.kind: ("task.updated", _task),
    TaskDoneReported.kind: ("task.done", _done),
}
"""Ledger kind -> the bus's type and how its payload is made."""


def kinds_of(types: Sequence[str]) -> list[str]:
    """The ledger kinds behind some types; a name that is none of ours is taken for a kind itself."""
    if OTHER in types:
        raise InvalidField(f"{OTHER} stands for many kinds: name those you want.", field="types")
    found = [kind for kind, (type, _) in TYPES.items() if type in types]
    known = {type for type, _ in TYPES.values()}
    return found + [each for each in types if each not in known]


def shown(event: Event) -> Payload:
    """The event as an envelope of the bus."""
    type, payload = TYPES.get(event.kind, (OTHER, None))
    envelope: Payload = {
        "v": VERSION,
        "type": type,
        "id": event.id,
        "ts": to_wire(event.ts),
        "src": event.by,
        "session": event.room_id,
        "seq": event.seq,
    }
    if payload is None:
        return {**envelope, "payload": {"kind": event.kind, "data": event.data}}
    if dst := _dst(event):
        envelope["dst"] = dst
    return {**envelope, "payload": payload(event.data)}


def _dst(event: Event) -> object:
    recipients = cast("list[str]", event.data.get("recipients") or [])
    return recipients[0] if len(recipients) == 1 else event.data.get("dst")


def line(event: Event) -> bytes:
    """The event itself, for the one it concerns."""
    return _encode(shown(event)) + b"\n"


def record(event: Event) -> Payload:
    return {"seq": event.seq, "ts": to_wire(event.ts), "envelope": shown(event)}


def frame(event: Event) -> bytes:
    """An `events.record` line without its `corr` and its end: the same bytes for all who follow the room."""
    head = {"v": VERSION, "type": "events.record", "id": f"r:{event.id}", "ts": to_wire(event.ts), "src": HUB}
    return _encode({**head, "session": event.room_id, "payload": record(event)})[:-1] + b"\n"


def addressed(frames: bytes, corr: str) -> bytes:
    """Such lines, for whoever asked under this id."""
    tail = b',"corr":' + _encode(corr) + b"}\n"
    return b"".join(each + tail for each in frames.split(b"\n") if each)


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
