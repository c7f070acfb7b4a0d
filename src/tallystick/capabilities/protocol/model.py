"""The kinds of protocol events, and what an adoption is judged by."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tallystick.capabilities.agents.events import AgentResumed
from tallystick.kernel.scopes import Spot

VERSION = "v1"


class EventType(StrEnum):
    HANDOFF = "HANDOFF"
    BLOCKED = "BLOCKED"
    INCURSION = "INCURSION"
    RESUME = "RESUME"


HANDOFF = "x.tally.protocol.handoff"
BLOCKED = "x.tally.protocol.blocked"
INCURSION = "x.tally.protocol.incursion"
STICK = ("x.tally.stick.release", "x.tally.stick.pass")

TYPES: dict[str, EventType] = {
    HANDOFF: EventType.HANDOFF,
    BLOCKED: EventType.BLOCKED,
    INCURSION: EventType.INCURSION,
    AgentResumed.kind: EventType.RESUME,
    **dict.fromkeys(STICK, EventType.HANDOFF),
}
"""Event kind -> what it is called in the protocol."""


class Reason(StrEnum):
    """Why an identity may be taken on."""

    UNCOMMITTED_SCOPE = "uncommitted_scope"
    IN_PROGRESS_OWNERSHIP = "in_progress_ownership"


class Traces(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent's session left behind in a scope."""

    scope: Sequence[Spot]
    files: Sequence[str]
    """Uncommitted files in that scope, from the room's root."""
    looked: bool
    """Whether there was a repository to look at."""


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What allows an adoption."""

    reason: Reason
    evidence: str
    task_ids: Sequence[str] = ()
