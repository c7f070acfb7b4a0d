"""The kinds of protocol events."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

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
