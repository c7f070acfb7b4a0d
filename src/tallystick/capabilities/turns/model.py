"""The stick: what the ledger says of it, the live lease beside it, and what can be seen of the processes involved."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.rooms.model import Room
from tallystick.kernel.caller import Process, ProcessState
from tallystick.kernel.clock import Instant


class Kind(StrEnum):
    """The stick's events on the ledger."""

    CLAIM = "x.tally.stick.claim"
    RELEASE = "x.tally.stick.release"
    PASS = "x.tally.stick.pass"
    TAKEOVER = "x.tally.stick.takeover"
    CLOSE = "x.tally.stick.close"

    @property
    def short(self) -> str:
        return self.rpartition(".")[2]


class Why(StrEnum):
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


class Handed(msgspec.Struct, frozen=True, kw_only=True):
    """A release or pass, by whoever held the stick before."""

    by: str
    kind: str
    body: str

    @property
    def handoff(self) -> dict[str, object]:
        """Word for word."""
        return msgspec.json.decode(self.body, type=_Body).handoff


class _Body(msgspec.Struct):
    """What is wanted of a release or pass."""

    handoff: dict[str, object]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a turn decision looks at."""

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
        return self.handed is not None and self.handed.kind == Kind.PASS
