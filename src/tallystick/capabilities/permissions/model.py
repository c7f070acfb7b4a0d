"""A request for permission as the rows have it, and the policy that settles some of them."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tallystick.capabilities.permissions.events import PermissionPolicySet, UnansweredDefault


class PermissionState(StrEnum):
    OPEN = "open"
    ALLOWED = "allowed"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"


class PermissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    """The number of the event that asked, which names it."""
    agent_id: str
    state: PermissionState
    settled_seq: int | None
    """The event that settled it; a member that leaves settles its own."""

    @classmethod
    def of_row(cls, *, seq: int, agent_id: str, state: str, settled_seq: int | None) -> PermissionRequest:
        return cls(seq=seq, agent_id=agent_id, state=PermissionState(state), settled_seq=settled_seq)


class PolicyVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the policy says to a request."""

    allowed: bool
    rule: str
    """In a sentence that the agent and the people are shown."""


ASK_FOR_EVERYTHING = PermissionPolicySet(default=UnansweredDefault.ASK, allow_commands=[], allow_paths=[], answerers=[])
"""The policy of a room that has set none."""
