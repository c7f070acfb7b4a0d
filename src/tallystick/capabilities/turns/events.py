"""What the ledger says of the stick: each grant, each handoff, each takeover. Closing is in `rooms.events`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from tallystick.capabilities.rooms.events import StickClosed
from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import JsonObject, Record


class ClaimReason(StrEnum):
    """Why it is somebody's turn."""

    DIRECT_PASS = "direct_pass"
    SEQUENCE = "sequence"
    OPEN_CLAIM = "open_claim"
    ALREADY_OWNER = "already_owner"


class Opening(StrEnum):
    """Why the stick may be taken over."""

    CLAIM_TIMEOUT = "claim_timeout"
    OWNER_TIMEOUT = "owner_timeout"
    OWNER_GONE = "owner_gone"
    RECIPIENT_GONE = "recipient_gone"


OPENINGS: Mapping[Opening, str] = {
    Opening.CLAIM_TIMEOUT: "was passed the stick and has not claimed it",
    Opening.OWNER_TIMEOUT: "let the lease run out",
    Opening.OWNER_GONE: "holds the stick, and its process is gone",
    Opening.RECIPIENT_GONE: "was passed the stick, and its process is gone",
}
"""What is said of the one from whom it may be taken."""


class StickClaimed(Body, kind="x.tally.stick.claim"):
    """A member took the stick when its time had come: a new turn."""

    turn_id: int
    from_agent_id: str | None
    to_agent_id: str
    reason: ClaimReason
    handoff_seq: int | None = None
    """The release or pass whose handoff came with it."""


class _HandedOver(Body):
    turn_id: int
    from_agent_id: str
    to_agent_id: str | None
    reserved_for: str | None
    handoff: JsonObject


class StickReleased(_HandedOver, kind="x.tally.stick.release"):
    """The holder gave the stick back; it is kept for the next one in the order, if anybody is there."""


class StickPassed(_HandedOver, kind="x.tally.stick.pass"):
    """The holder gave the stick to one particular member."""


class SeenOfRevoked(Record):
    """What could be seen of the one who lost the stick, when it was taken."""

    process: str
    last_seen_at: str | None
    deadline: str | None


class StickTakenOver(Body, kind="x.tally.stick.takeover"):
    """A member took the stick from a holder or recipient who failed: a new turn."""

    turn_id: int
    from_agent_id: str | None
    to_agent_id: str
    reason: str
    opening: Opening
    liveness: SeenOfRevoked


class StickRevoked(Body, kind="x.tally.stick.revoke"):
    """A person, or a token that may manage, ended a living holder's turn; no handoff comes with it."""

    turn_id: int
    from_agent_id: str
    reserved_for: str | None
    reason: str


STICK_EVENTS = (StickClaimed, StickReleased, StickPassed, StickTakenOver, StickRevoked, StickClosed)
