"""Appending a message: the one way for a sent and for a relayed one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.messages import overdue, queries, rules
from tallystick.capabilities.messages.contract import Sent
from tallystick.capabilities.messages.model import Author, Kind
from tallystick.capabilities.rooms.model import Blobs, Room
from tallystick.kernel.envelope import Draft, Event
from tallystick.ledger import bodies, reading
from tallystick.ledger.contract import Envelope
from tallystick.ledger.errors import RoomClosed
from tallystick.ledger.tx import Tx


def post(tx: Tx, room: Room, members: Sequence[Member], author: Author, data: Mapping[str, object]) -> Sent:
    """Append a message for its author, unless its client_id shows that this was already done."""
    client_id = cast("str | None", data.get("client_id"))
    known = queries.sending(tx, room.room_id, author.principal, client_id)
    if known and rules.check_replay(known, data, now=tx.now):
        return _sent(reading.event_at(tx, room.room_id, known.seq), replayed=True)
    if room.closed_at is not None:
        raise RoomClosed(room_id=room.room_id)
    if reply_to := cast("str | None", data.get("reply_to")):
        reading.event_by_id(tx, room.room_id, reply_to)
    for sha256 in rules.blobs(data):
        tx.use(Blobs).check(tx, room.room_id, sha256)
    recipients = rules.recipients(members, cast("list[str]", data["to"]), author.principal)
    body = {**data, "recipients": recipients}
    bodies.check(body)
    overdue.nudge(tx, room)
    draft = Draft(kind=Kind.MESSAGE, data=body, scope_key=author.scope_key)
    (event,) = tx.append(room.room_id, author.principal, [draft])
    return _sent(event, replayed=False)


def _sent(event: Event, *, replayed: bool) -> Sent:
    recipients = cast("list[str]", event.data["recipients"])
    return Sent(event=Envelope.of(event), recipients=recipients, replayed=replayed)
