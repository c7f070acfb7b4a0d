"""Appending a message: the one way for a sent, a relayed and an action's one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tallystick.capabilities.agents.model import Participant
from tallystick.capabilities.messages import overdue, queries, rules
from tallystick.capabilities.messages.contract import Sent
from tallystick.capabilities.messages.model import Author, Kind
from tallystick.capabilities.rooms.model import Blobs, Conversations, Room, Speech, TaskBook
from tallystick.kernel.envelope import Draft, Event
from tallystick.ledger import bodies, reading
from tallystick.ledger.contract import Envelope
from tallystick.ledger.errors import RoomClosed
from tallystick.ledger.tx import Tx


def post(tx: Tx, room: Room, members: Sequence[Participant], author: Author, data: Mapping[str, object]) -> Sent:
    """Append a message for its author, unless its client_id shows that this was already done."""
    client_id = cast("str | None", data.get("client_id"))
    known = queries.sending(tx, room.room_id, author.principal, client_id)
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
    overdue.nudge(tx, room)
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


def _sent(event: Event, *, replayed: bool) -> Sent:
    recipients = cast("list[str]", event.data["recipients"])
    return Sent(event=Envelope.of(event), recipients=recipients, replayed=replayed)
