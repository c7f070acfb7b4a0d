"""Refusals about protocol events and adoption."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed


class InvalidPayload(InvalidInput):
    """The payload does not fit the type of the event."""

    hint = (
        "HANDOFF takes subject, summary, next_action and requires_ack; "
        "BLOCKED takes subject, blocker, requested_action and urgency, and always requires an ack."
    )


class AdoptionRejected(NotAllowed):
    """Nothing shows that there is work of that agent to go on with."""

    hint = "Register under a name of your own (agents.register), or have the user confirm with `tally init --adopt ID`."


class AgentActive(Conflict):
    """That agent is alive: nobody else acts for it."""

    hint = "Send it a message, or wait until it is stale or its process has ended."
