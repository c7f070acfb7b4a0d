"""An agent as a member of a room, and whether it is present."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import msgspec

from tallystick.kernel.caller import Caller, Process, ProcessState, SessionKind
from tallystick.kernel.clock import Instant

if TYPE_CHECKING:  # The contract reads this module, and must load nothing of the store.
    from tallystick.ledger.capability import Holding
    from tallystick.ledger.tx import Tx
    from tallystick.workspace.room_paths import RoomRoots


class Role(StrEnum):
    FOREMAN = "foreman"
    PEER = "peer"


class Status(StrEnum):
    ACTIVE = "active"
    INACTIVE = "inactive"


class Liveness(StrEnum):
    """Whether what an agent holds still counts."""

    ACTIVE = "active"
    STALE = "stale"
    EVICTED = "evicted"


class Participant(msgspec.Struct, frozen=True, kw_only=True):
    """An agent in a room as the ledger has it: who it is, not whether it is there."""

    agent_id: str
    name: str
    role: Role
    harness: str
    scope_key: str
    ordinal: int
    joined_at: Instant
    in_order: bool = True
    """Whether it has a place in the turn order; one that was only seen by a hook has none."""

    @classmethod
    def of_row(cls, *, role: str, in_order: int, **row: object) -> Participant:
        return cls(role=Role(role), in_order=bool(in_order), **row)  # pyright: ignore[reportArgumentType]


class Member(Participant, frozen=True, kw_only=True):
    """A participant with its presence."""

    last_seen_at: Instant
    session: SessionKind
    process: Process | None
    process_state: ProcessState
    """What was seen of its process when this was read; unknown where nobody looked."""
    progressed_at: Instant
    """When it last added something to the ledger."""
    wants_until: Instant = 0
    """Until when it counts as waiting for the stick."""


class AdoptionReason(StrEnum):
    """Why a session may go on as an agent."""

    UNCOMMITTED_SCOPE = "uncommitted_scope"
    IN_PROGRESS_OWNERSHIP = "in_progress_ownership"


class AdoptionGround(msgspec.Struct, frozen=True, kw_only=True):
    """What allows an adoption."""

    reason: AdoptionReason
    evidence: str
    task_ids: Sequence[str] = ()


class OwnedTask(msgspec.Struct, frozen=True, kw_only=True):
    task_id: str
    paths: Sequence[str] = ()
    """Where in the room it is worked on; none when that is not said."""
    made_by: Sequence[str] = ()
    """Who assigned it and who started it: for them it is no ground to go on as its owner."""


class Holdings(Protocol):
    """All that is held in a room; gathered by the hub from every capability that has something to hold."""

    def held(self, tx: Tx, room_id: str) -> Sequence[Holding]: ...


class Ownership(Protocol):
    """Which tasks an agent works on; answered by `tasks`."""

    def in_progress(self, tx: Tx, room_id: str, agent_id: str) -> Sequence[OwnedTask]: ...


class Departures(Protocol):
    """What has to be settled before somebody is gone; answered by `actions`."""

    def left(self, tx: Tx, room_id: str, agent_id: str) -> None: ...

    def closed(self, tx: Tx, room_id: str) -> None: ...


class RoomAccess(Protocol):
    """The room that an agent goes on in; answered by `rooms`."""

    def roots_here(self, tx: Tx, room_id: str, scope_key: str) -> RoomRoots:
        """The room's roots on this machine."""
        ...

    def check_leaving(self, tx: Tx, room_id: str, me: Caller) -> None:
        """Refuse while the caller holds the stick: nobody leaves with it."""
        ...
