"""`hub.*`: what this hub can do and whether it is well."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tallystick import __version__
from tallystick.kernel.caller import Caller
from tallystick.kernel.errors import NotFound
from tallystick.kernel.operation import Answer, Ask, operation
from tallystick.ledger import reading
from tallystick.ledger.bodies import BODY_LIMIT, DEPTH_LIMIT
from tallystick.ledger.capability import Capability, Opened
from tallystick.ledger.contract import LIST_LIMIT, WAIT_LIMIT_MS, RoomId, Text
from tallystick.ledger.tx import Tx


class UnknownRef(NotFound):
    """Nothing in this room has that id."""

    hint = "Use an id or ref as an answer gave it: JOB-001, JOB-001@17, runner:<id>, TASK-001, CARD-001, notes@17."


class AskHub(Ask):
    pass


class Capabilities(Answer):
    version: str
    envelope_versions: list[int]
    cursors: list[str]
    filters: list[str]
    limits: dict[str, int]
    operations: Annotated[list[str], Meta(description="Every operation; call each by this name on any surface.")]


class Health(Answer):
    ok: bool
    rooms: int


@operation("hub.capabilities", examples=({},))
def capabilities(tx: Tx, me: Caller, ask: AskHub) -> Capabilities:
    """Say what this hub supports: versions, cursor kinds, filters, limits and every operation by name."""
    from tallystick.hub.registry import OPERATIONS

    return Capabilities(
        version=__version__,
        envelope_versions=[1],
        cursors=["since_seq", "since_event_id", "since_ts"],
        filters=["kinds", "limit"],
        limits={
            "events_per_page": LIST_LIMIT,
            "event_body_bytes": BODY_LIMIT,
            "event_body_levels": DEPTH_LIMIT,
            "wait_ms": WAIT_LIMIT_MS,
        },
        operations=sorted(OPERATIONS),
    )


@operation("hub.health", examples=({},))
def health(tx: Tx, me: Caller, ask: AskHub) -> Health:
    """Read from the store and say how many rooms it holds."""
    return Health(ok=True, rooms=reading.count_rooms(tx))


class OpenRef(Ask):
    room_id: RoomId
    id: Annotated[Text, Meta(min_length=1, max_length=400, description="Any id or ref: JOB-001, JOB-001@17, CARD-…")]


@operation("open.ref", short="open", examples=({"room_id": "ROOM", "id": "JOB-001@17"},))
def open_ref(tx: Tx, me: Caller, ask: OpenRef) -> Opened:
    """Open anything by its id or ref.

    `JOB-001`, `JOB-001@17`, `runner:<id>`, `TASK-…`, `CARD-…`, `a:…`, `notes@17`, `artifact://jobs/…`, an
    action's id, or an event id.
    """
    from tallystick.hub.registry import CAPABILITIES

    tx.head(ask.room_id)
    found = (capability.opens(tx, ask.room_id, me, ask.id) for capability in CAPABILITIES if capability.opens)
    opened = next((each for each in found if each), None)
    if opened is None:
        raise UnknownRef(f"Nothing in this room is called '{ask.id[:80]}'.", id=ask.id[:80])
    return opened


CAPABILITY = Capability(name="hub", package="tallystick.hub", operations=(capabilities, health, open_ref))
