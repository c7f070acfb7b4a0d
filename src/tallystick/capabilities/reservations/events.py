"""What the ledger says of reservations: each grant and each end of one, and attempts that ran into somebody else's."""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, UnsetType

from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import Moment, Record


class ReservationMode(StrEnum):
    EXCLUSIVE = "exclusive"
    SHARED = "shared"


class ReservationEnding(StrEnum):
    """Why a reservation was archived as expired."""

    TTL = "ttl"
    TAKEN_OVER = "taken_over"


class ReservationGranted(Body, kind="x.tally.reservation.grant"):
    """An agent has a path from now on. The event's seq is the reservation's fence."""

    reservation_id: str
    agent_id: str
    path: str
    """As it is shown: the key, with `/*` where it was written so."""
    key: str
    """Relative to the room's root, empty for the root itself."""
    folds: bool
    """Its file system takes names that differ only in case for the same."""
    mode: ReservationMode
    task_id: str | None
    until: Moment


class ReservationRenewed(Body, kind="x.tally.reservation.renew"):
    """A holder keeps its path for longer; what else it may change is given as it is now."""

    reservation_id: str
    path: str
    mode: ReservationMode
    task_id: str | None
    until: Moment


class ReservationReleased(Body, kind="x.tally.reservation.release"):
    """A holder gave its path back."""

    reservation_id: str
    path: str


class ReservationExpired(Body, kind="x.tally.reservation.expire"):
    """A reservation was archived: its time was up, or its silent holder was replaced."""

    reservation_id: str
    agent_id: str
    """Who lost it."""
    path: str
    until: Moment
    ending: ReservationEnding
    taken_by: str | UnsetType = UNSET
    """Only after a takeover, as is the next one."""
    liveness: str | UnsetType = UNSET


class IncursionPayload(Record):
    """What the protocol's INCURSION envelope carries."""

    incursion_kind: str
    owner_agent: str
    incoming_agent: str
    owner_liveness: str
    resolution_hint: str


class IncursionRecorded(Body, kind="x.tally.protocol.incursion"):
    """An agent asked for a path that overlaps somebody else's reservation."""

    task_id: str | None
    from_agent: str
    to_agent: str
    scope: str
    key: str
    reservation_id: str
    granted: bool
    """Both share the path; otherwise the attempt was refused."""
    payload: IncursionPayload
