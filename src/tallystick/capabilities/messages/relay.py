"""`messages.relay`: bring a message of one room into another, with its provenance."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.messages import rules, sending
from tallystick.capabilities.messages.contract import Relayed, RelayMessage
from tallystick.capabilities.messages.errors import SourceUnavailable
from tallystick.capabilities.messages.model import USER, Author, Kind
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Blobs, Room
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.operation import operation
from tallystick.ledger import reading
from tallystick.ledger.contract import Envelope
from tallystick.ledger.errors import EventNotFound
from tallystick.ledger.tx import Tx

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
def relay(tx: Tx, me: Caller, ask: RelayMessage) -> Relayed:
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
    sent = sending.post(tx, room, members, author, body)
    record = _record(tx, me, ask, room, sent.event) if ask.record and not sent.replayed else None
    return Relayed(event=sent.event, recipients=sent.recipients, replayed=sent.replayed, record=record)


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
