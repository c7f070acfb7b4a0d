"""Refusals about protocol events."""

from __future__ import annotations

from tallystick.kernel.errors import InvalidInput


class InvalidPayload(InvalidInput):
    """The payload does not fit the type of the event."""

    hint = (
        "HANDOFF takes subject, summary, next_action and requires_ack; "
        "BLOCKED takes subject, blocker, requested_action and urgency, and always requires an ack."
    )
