"""The kinds of protocol events, and what an adoption is judged by."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

import msgspec

from tallystick.capabilities.agents.events import AgentResumed
from tallystick.capabilities.protocol.events import WorkBlocked, WorkHandedOver
from tallystick.capabilities.reservations.events import IncursionRecorded
from tallystick.capabilities.turns.events import StickPassed, StickReleased

VERSION = "v1"


class EventType(StrEnum):
    HANDOFF = "HANDOFF"
    BLOCKED = "BLOCKED"
    INCURSION = "INCURSION"
    RESUME = "RESUME"


ProtocolBody: TypeAlias = WorkHandedOver | WorkBlocked | IncursionRecorded | AgentResumed | StickReleased | StickPassed
"""What the protocol has an envelope for. Handing over the stick is a HANDOFF too."""


class Reason(StrEnum):
    """Why an identity may be taken on."""

    UNCOMMITTED_SCOPE = "uncommitted_scope"
    IN_PROGRESS_OWNERSHIP = "in_progress_ownership"


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What allows an adoption."""

    reason: Reason
    evidence: str
    task_ids: Sequence[str] = ()
