"""The stick: what the ledger says of it, the live lease beside it, and what can be seen of the processes involved."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.rooms.model import Room
from tallystick.capabilities.turns.events import StickPassed, StickReleased
from tallystick.kernel.caller import Process, ProcessState, SessionKind
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import read_body
from tallystick.kernel.operation import JsonObject


class Stick(msgspec.Struct, frozen=True, kw_only=True):
    """Ownership of a room, folded from its events. `turn_id` counts grants; 0 means never held."""

    turn_id: int = 0
    owner: str | None = None
    reserved_for: str | None = None
    pending_seq: int | None = None
    """The release or pass whose handoff the next claimant gets."""
    received_seq: int | None = None
    """The handoff that the present owner got."""
    sequence_at: str | None = None
    """Whom the sequence pointed at last."""
    updated_at: Instant = 0


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The fencing token and the deadlines of the present turn or reservation. Not in the ledger."""

    turn_id: int
    lease_id: str | None = None
    lease_expires_at: Instant | None = None
    claim_expires_at: Instant | None = None
    renewed_at: Instant = 0
    process: Process | None = None
    """The process that was granted the turn; a new process under the same name is not that one."""
    session_key: str | None = None
    """`rules.session_key` of the session that was granted the turn."""
    session_kind: SessionKind | None = None


class Handed(msgspec.Struct, frozen=True, kw_only=True):
    """A release or pass by the previous holder."""

    by: str
    kind: str
    body: str

    @property
    def handoff(self) -> JsonObject:
        """Word for word."""
        return read_body(StickReleased, self.body).handoff


class TurnSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a decision about a turn needs, read at one moment."""

    room: Room
    members: Sequence[Member]
    stick: Stick
    lease: Lease
    owner_process: ProcessState
    """Of the process that was granted the turn."""
    handed: Handed | None
    """The pending handoff."""

    @property
    def handed_by(self) -> str | None:
        """The immediately prior owner."""
        return self.handed.by if self.handed else None

    @property
    def handed_directly(self) -> bool:
        """The pending handoff was a pass, not a release."""
        return self.handed is not None and self.handed.kind == StickPassed.kind
