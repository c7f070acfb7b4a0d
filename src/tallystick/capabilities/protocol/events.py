"""What the ledger says of handoffs and blockers. The other protocol events are written by their own capabilities."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import Record


class HandoffPayload(Record):
    """What the protocol's HANDOFF envelope carries."""

    subject: str
    summary: str
    next_action: str
    requires_ack: bool


class BlockedPayload(Record):
    """What the protocol's BLOCKED envelope carries."""

    subject: str
    blocker: str
    requested_action: str
    urgency: Literal["low", "medium", "high"]
    requires_ack: bool

    @property
    def words(self) -> str:
        """What a reader is shown of it."""
        lines = (self.subject, f"blocked by: {self.blocker}", self.requested_action)
        return "\n".join(line for line in lines if line)


class _SentToAgent(Body):
    task_id: str
    from_agent: str
    to_agent: str
    scope: str | None
    message_id: str
    """The message that brought it to its recipient."""
    recipients: list[str] | UnsetType = UNSET
    """Who they were when it was sent, where it was sent by role."""


class WorkHandedOver(_SentToAgent, kind="x.tally.protocol.handoff"):
    """An agent handed work to somebody."""

    payload: HandoffPayload


class WorkBlocked(_SentToAgent, kind="x.tally.protocol.blocked"):
    """An agent cannot go on, and says what it needs."""

    payload: BlockedPayload
