"""`messages.send` and `messages.relay`, appending a message in general, and the capability as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.model import Participant
from tallystick.capabilities.messages import context, inbox, notifications, queries, receipts, rules, search
from tallystick.capabilities.messages.contract import (
    RelayMessage,
    RelayMessageResult,
    SendMessage,
    SendMessageResult,
)
from tallystick.capabilities.messages.errors import SourceUnavailable
from tallystick.capabilities.messages.model import SYSTEM, USER, Author, Kind
from tallystick.capabilities.messages.projections import DEFERRED, DEFERRED_TABLES, PROJECTIONS, TABLES
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Blobs, Conversations, Letters, Room, Speech, Talk, TaskBook
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.operation import operation
from tallystick.ledger import bodies, reading
from tallystick.ledger.capability import Capability
from tallystick.ledger.contract import Envelope
from tallystick.ledger.errors import EventNotFound, RoomClosed
from tallystick.ledger.tx import Tx

_ATTENTION = {"room_id": "ROOM", "text": "Please review src/parser.py", "to": ["@foreman"], "priority": "attention"}


@operation("messages.send", writes=True, examples=(_ATTENTION,))
def send(tx: Tx, me: Caller, ask: SendMessage) -> SendMessageResult:
    """Say something to agents of the room, or to the user. Whom it reaches is settled now and never changes later.

    With `priority: attention` every recipient has to acknowledge it. With a `client_id` sending it twice counts once.
    """
    room = rooms.room(tx, ask.room_id)
    members = agents.roster(tx, room.room_id)
    author = rules.author(members, me)
    return post(tx, room, members, author, rules.message(ask))


def post(
    tx: Tx, room: Room, members: Sequence[Participant], author: Author, data: Mapping[str, object]
) -> SendMessageResult:
    """Append a message for its author, unless its client_id shows that this was already done."""
    client_id = cast("str | None", data.get("client_id"))
    known = queries.client_id_use(tx, room.room_id, author.principal, client_id)
    if known and rules.check_replay(known, data, now=tx.now):
        return _sent(reading.event_at(tx, room.room_id, known.seq), replayed=True)
    if room.closed_at is not None:
        raise RoomClosed(room_id=room.room_id)
    if about := cast("Mapping[str, object] | None", data.get("conversation")):
        rules.check_sender_name(members, author.principal, cast("str | None", about.get("sender_name")))
        tx.use(Conversations).admit(tx, room.room_id, author.principal, about)
    if reply_to := cast("str | None", data.get("reply_to")):
        reading.event_by_id(tx, room.room_id, reply_to)
    if "attachments" in data or "refs" in data:
        _check_references(tx, room, data)
    notifications.nudge(tx, room)
    return _sent(_append(tx, room, members, author, data), replayed=False)


def _check_references(tx: Tx, room: Room, data: Mapping[str, object]) -> None:
    for sha256 in rules.blobs(data):
        tx.use(Blobs).check(tx, room.room_id, sha256)
    for task_id in rules.tasks(data):
        tx.use(TaskBook).check_ref(tx, room.room_id, task_id)


def _append(tx: Tx, room: Room, members: Sequence[Participant], author: Author, data: Mapping[str, object]) -> Event:
    body = {**data, "recipients": rules.recipients(members, cast("list[str]", data["to"]), author.principal)}
    draft = Draft(kind=Kind.MESSAGE, data=body, scope_key=author.scope_key, body=bodies.check(body))
    (event,) = tx.append(room.room_id, author.principal, [draft])
    return event


class ActionTalk:
    """The messages that actions consist of; whether they may be said is decided there."""

    def say(self, tx: Tx, room: Room, members: Sequence[Participant], speech: Speech) -> str:
        rules.check_text(speech.text)
        data: dict[str, object] = {
            "text": speech.text,
            "format": "plain",
            "priority": "normal",
            "to": [speech.to],
            "conversation": dict(speech.about),
        }
        author = Author(principal=speech.by, scope_key=speech.scope_key)
        return _append(tx, room, members, author, data).id


def _sent(event: Event, *, replayed: bool) -> SendMessageResult:
    recipients = cast("list[str]", event.data["recipients"])
    return SendMessageResult(event=Envelope.of(event), recipients=recipients, replayed=replayed)


class Letterbox:
    def send(self, tx: Tx, room: Room, me: Caller, *, to: str, text: str, attention: bool) -> Event:
        members = agents.roster(tx, room.room_id)
        rules.check_text(text)
        priority = "attention" if attention else "normal"
        data: dict[str, object] = {"text": text, "format": "plain", "priority": priority, "to": [to]}
        sent = post(tx, room, members, rules.author(members, me), data)
        return reading.event_at(tx, room.room_id, sent.event.seq)

    def acked_at(self, tx: Tx, room_id: str, event_id: str, recipient: str) -> Instant | None:
        seq = reading.seq_of_event(tx, room_id, event_id)
        delivery = queries.delivery(tx, room_id, agent_rules.principal(recipient), seq)
        return delivery.acked_at if delivery else None

    def tell(self, tx: Tx, room_id: str, *, to: str, title: str, message: str, related_event_id: str) -> Event:
        who = agent_rules.principal(to)
        data: dict[str, object] = {
            "kind": "status_change",
            "priority": "high",
            "title": title,
            "message": message,
            "target_actor_id": who,
            "requires_ack": False,
            "related_event_id": related_event_id,
            "recipients": [who],
        }
        (event,) = tx.append(room_id, SYSTEM, [Draft(kind=Kind.NOTIFY, data=data)])
        return event


OFFERS: dict[type, object] = {Letters: Letterbox()}


SUMMARIZED = "[Summarized]"
_BOUND_TO_ITS_ROOM = {"presentation_ref", "task_ref"}


def _noted_in(ask: RelayMessage) -> tuple[str, ...]:
    """The room it comes from, where a note of it is asked for."""
    return (ask.src_group_id,) if ask.record else ()


@operation(
    "messages.relay",
    writes=True,
    also_locks=_noted_in,
    examples=({"room_id": "ROOM", "src_group_id": "OTHER", "src_event_id": "EVENT", "to": ["@all"]},),
)
def relay(tx: Tx, me: Caller, ask: RelayMessage) -> RelayMessageResult:
    """Bring a message from another room into this one, word for word and with a pointer to where it came from.

    Give a `summary` to send that instead; it is marked as one. Attached files come along; references to tasks and slots
    of the source room stay behind. `record` notes in the source room where the message went.
    """
    room = rooms.room(tx, ask.room_id)
    members = agents.roster(tx, room.room_id)
    author = rules.author(members, me)
    source = _source(tx, ask)
    body = _body(source, ask)
    for sha256 in rules.blobs(body):
        tx.use(Blobs).bring(tx, sha256, source=source.room_id, target=room.room_id, by=author.principal)
    sent = post(tx, room, members, author, body)
    record = _record(tx, me, ask, room, sent.event) if ask.record and not sent.replayed else None
    return RelayMessageResult(event=sent.event, recipients=sent.recipients, replayed=sent.replayed, record=record)


def _source(tx: Tx, ask: RelayMessage) -> Event:
    try:
        source = reading.event_by_id(tx, ask.src_group_id, ask.src_event_id)
    except EventNotFound:
        source = None
    if source is None or source.kind != Kind.MESSAGE:
        raise SourceUnavailable(src_group_id=ask.src_group_id, src_event_id=ask.src_event_id)
    return source


def _body(source: Event, ask: RelayMessage) -> dict[str, object]:
    data: dict[str, object] = {
        "text": f"{SUMMARIZED} {ask.summary}" if ask.summary else source.data["text"],
        "format": source.data["format"],
        "priority": ask.priority,
        "to": ask.to or [],
        "src_group_id": ask.src_group_id,
        "src_event_id": ask.src_event_id,
    }
    if ask.client_id:
        data["client_id"] = ask.client_id
    if ask.summary is None:
        references = cast("list[dict[str, object]]", source.data.get("refs", []))
        carried = {
            "attachments": source.data.get("attachments"),
            "refs": [reference for reference in references if reference["kind"] not in _BOUND_TO_ITS_ROOM],
        }
        data |= {name: value for name, value in carried.items() if value}
    rules.check_text(cast("str", data["text"]))
    return data


def _record(tx: Tx, me: Caller, ask: RelayMessage, room: Room, relayed: Envelope) -> Envelope:
    """The note in the source room. It is for the user's eyes, so it adds to nobody else's inbox."""
    tx.lock(ask.src_group_id)
    source = rooms.open_room(tx, ask.src_group_id)
    author: Author = rules.author(agents.roster(tx, source.room_id), me)
    data: dict[str, object] = {
        "text": f"Relayed to '{room.title}'.",
        "format": "plain",
        "priority": "normal",
        "to": ["@user"],
        "reply_to": ask.src_event_id,
        "dst_group_id": room.room_id,
        "dst_to": ask.to or [],
        "dst_event_id": relayed.id,
        "recipients": [USER] if author.principal != USER else [],
    }
    draft = Draft(kind=Kind.MESSAGE, data=data, scope_key=author.scope_key)
    (event,) = tx.append(source.room_id, author.principal, [draft])
    return Envelope.of(event)


CAPABILITY = Capability(
    name="messages",
    package="tallystick.capabilities.messages",
    operations=(
        send,
        inbox.read_inbox,
        receipts.mark_read,
        receipts.ack,
        receipts.react,
        relay,
        search.search,
        receipts.receipts,
        notifications.notify,
        notifications.ack,
        context.sync,
    ),
    projections=PROJECTIONS,
    tables=TABLES,
    deferred=DEFERRED,
    deferred_tables=DEFERRED_TABLES,
    offers={**inbox.OFFERS, **OFFERS, Talk: ActionTalk()},
    notice=inbox.notice,
)
