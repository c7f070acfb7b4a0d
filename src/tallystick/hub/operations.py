"""`hub.*`: what this hub can do and whether it is well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import Meta

from tallystick import __version__
from tallystick.capabilities.actions.contract import GROUP_LIMIT
from tallystick.capabilities.actions.rules import QUEUE_LIMIT
from tallystick.capabilities.blobs.contract import INLINE_LIMIT
from tallystick.capabilities.jobs.operations import open_job
from tallystick.capabilities.messages.contract import RECIPIENTS_LIMIT, TEXT_LIMIT
from tallystick.capabilities.permissions.rules import OPEN_LIMIT
from tallystick.capabilities.tasks.work import Work
from tallystick.hub.blobs import SIZE_LIMIT
from tallystick.hub.writing import KEY_LIMIT
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import BODY_LIMIT, DEPTH_LIMIT
from tallystick.kernel.errors import NotFound
from tallystick.kernel.operation import Answer, Ask, Reach, operation
from tallystick.ledger import reading
from tallystick.ledger.capability import Capability, Opened
from tallystick.ledger.contract import LIST_LIMIT, WAIT_LIMIT_MS, RoomId, Text
from tallystick.ledger.tx import Tx
from tallystick.proof.files import FileFact, FilesToRead, survey
from tallystick.proof.refs import RefKind, parse


class UnknownRef(NotFound):
    """Nothing in this room has that id."""

    hint = "Use an id or ref as an answer gave it: JOB-001, JOB-001@17, runner:<id>, TASK-001, CARD-001, notes@17."


ENVELOPE_LIMIT = 1024 * 1024
"""Bytes of one envelope of the bus."""

LIMITS = {
    "events_per_page": LIST_LIMIT,
    "event_body_bytes": BODY_LIMIT,
    "event_body_levels": DEPTH_LIMIT,
    "message_text_bytes": TEXT_LIMIT,
    "message_recipients": RECIPIENTS_LIMIT,
    "blob_bytes": SIZE_LIMIT,
    "blob_inline_bytes": INLINE_LIMIT,
    "bus_envelope_bytes": ENVELOPE_LIMIT,
    "actions_per_group": GROUP_LIMIT,
    "actions_waiting": QUEUE_LIMIT,
    "permissions_open": OPEN_LIMIT,
    "idempotency_key_chars": KEY_LIMIT,
    "wait_ms": WAIT_LIMIT_MS,
}
"""What is refused beyond this, by name."""


class AskHub(Ask):
    pass


class Capabilities(Answer):
    version: str
    envelope_versions: list[int]
    cursors: Annotated[list[str], Meta(description="Where reading goes on without loss.")]
    filters: Annotated[
        list[str], Meta(description="What events.list and events.follow leave out; a stream takes kinds.")
    ]
    limits: Annotated[dict[str, int], Meta(description="What is refused beyond this.")]
    operations: Annotated[list[str], Meta(description="Every operation; call each by this name on any surface.")]


class Health(Answer):
    ok: bool
    rooms: int


@operation("hub.capabilities", reach=Reach.READ, examples=({},))
def capabilities(tx: Tx, me: Caller, ask: AskHub) -> Capabilities:
    """Say what this hub supports: versions, cursor kinds, filters, limits and every operation by name."""
    from tallystick.hub.registry import OPERATIONS

    return Capabilities(
        version=__version__,
        envelope_versions=[1],
        cursors=["since_seq", "since_event_id"],
        filters=["kinds", "limit", "since_ts"],
        limits=LIMITS,
        operations=sorted(OPERATIONS),
    )


@operation("hub.health", reach=Reach.READ, examples=({},))
def health(tx: Tx, me: Caller, ask: AskHub) -> Health:
    """Read from the store and say how many rooms it holds."""
    return Health(ok=True, rooms=reading.count_rooms(tx))


class OpenRef(Ask):
    room_id: RoomId
    id: Annotated[Text, Meta(min_length=1, max_length=400, description="Any id or ref: JOB-001, JOB-001@17, CARD-…")]


def _job_files(tx: Tx, me: Caller, ask: OpenRef) -> FilesToRead:
    tx.head(ask.room_id)
    return tx.use(Work).files(tx, ask.room_id, [parse(ask.id).value])


def _read_files(ask: OpenRef, wanted: Callable[[], FilesToRead]) -> Mapping[str, FileFact]:
    """The files that a job named as proof: `open` says of it what `jobs.open` says."""
    return survey(wanted()) if parse(ask.id).kind is RefKind.JOB else {}


@operation(
    "open.ref",
    reach=Reach.READ,
    short="open",
    read_before=_job_files,
    io_before=_read_files,
    examples=({"room_id": "ROOM", "id": "JOB-001@17"},),
)
def open_ref(tx: Tx, me: Caller, ask: OpenRef, seen: Mapping[str, FileFact]) -> Opened:
    """Open anything by its id or ref.

    `JOB-001`, `JOB-001@17`, `runner:<id>`, `TASK-…`, `CARD-…`, `a:…`, `notes@17`, `artifact://jobs/…`, an
    action's id, or an event id.
    """
    from tallystick.hub.registry import CAPABILITIES

    tx.head(ask.room_id)
    if (ref := parse(ask.id)).kind is RefKind.JOB:
        return open_job(tx, ask.room_id, me, ref.value, seen)
    found = (capability.opens(tx, ask.room_id, me, ask.id) for capability in CAPABILITIES if capability.opens)
    opened = next((each for each in found if each), None)
    if opened is None:
        raise UnknownRef(f"Nothing in this room is called '{ask.id[:80]}'.", id=ask.id[:80])
    return opened


CAPABILITY = Capability(name="hub", package="tallystick.hub", operations=(capabilities, health, open_ref))
