"""Ledger events as bus events: the closed list of types, and how each kind's payload looks.

A record is the event's envelope with its place in the room. Everything that has no type of its own is `event.appended`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import msgspec

from tallystick.bus.envelope import HUB, VERSION
from tallystick.capabilities.actions.events import (
    ActionResultReported,
    ActionSubmitted,
    TaskDoneReported,
    TaskProgressReported,
)
from tallystick.capabilities.agents.events import MemberAdded, MemberRemoved, MemberUpdated
from tallystick.capabilities.messages.events import MessageSent
from tallystick.capabilities.rooms.events import PolicyChanged, RoomCreated, ScopeAttached, SequenceChanged, StickClosed
from tallystick.kernel.clock import to_wire
from tallystick.kernel.envelope import Event
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.json_values import is_object

Data = Mapping[str, object]
Payload = dict[str, object]

OTHER = "event.appended"
SUBMIT, RESULT = "action.submit", "action.result"

_encode = msgspec.json.Encoder(enc_hook=str).encode


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
