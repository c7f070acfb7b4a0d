"""`hub.*`: what this hub can do and whether it is well."""

from __future__ import annotations

from pydantic import Field

from tallystick import __version__
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Answer, Ask, operation
from tallystick.ledger import reading
from tallystick.ledger.bodies import BODY_LIMIT, DEPTH_LIMIT
from tallystick.ledger.capability import Capability
from tallystick.ledger.contract import LIST_LIMIT, WAIT_LIMIT_MS
from tallystick.ledger.tx import Tx


class AskHub(Ask):
    pass


class Capabilities(Answer):
    version: str
    envelope_versions: list[int]
    cursors: list[str]
    filters: list[str]
    limits: dict[str, int]
    operations: list[str] = Field(description="Every operation; call each by this name on any surface.")


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
    return Health(ok=True, rooms=len(reading.every_room(tx)))


CAPABILITY = Capability(name="hub", package="tallystick.hub", operations=(capabilities, health))
