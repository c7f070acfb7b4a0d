"""Pure decisions: which payload fits which event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from msgspec import UNSET, UnsetType

from tallystick.capabilities.protocol.contract import SendProtocol
from tallystick.capabilities.protocol.events import BlockedPayload, HandoffPayload, WorkBlocked, WorkHandedOver
from tallystick.kernel.errors import InvalidInput


class InvalidPayload(InvalidInput):
    """The payload does not fit the type of the event."""

    hint = (
        "HANDOFF takes subject, summary, next_action and requires_ack; "
        "BLOCKED takes subject, blocker, requested_action and urgency, and always requires an ack."
    )


_FIELDS = {
    "HANDOFF": ("summary", "next_action"),
    "BLOCKED": ("blocker", "requested_action", "urgency"),
}


def payload(ask: SendProtocol) -> HandoffPayload | BlockedPayload:
    """The payload of a HANDOFF or BLOCKED; refused when a field is missing, empty or another type's."""
    wanted = _FIELDS[ask.event_type]
    foreign = [name for names in _FIELDS.values() for name in names if name not in wanted]
    if extra := next((name for name in foreign if getattr(ask, name) is not None), None):
        raise InvalidPayload(f"{ask.event_type} has no {extra}.", field=extra)
    for name in ("subject", *wanted):
        if not (getattr(ask, name) or "").strip():
            raise InvalidPayload(f"{ask.event_type} needs {name}.", field=name)
    if ask.event_type == "BLOCKED" and not ask.requires_ack:
        raise InvalidPayload("BLOCKED always requires an ack.", field="requires_ack")
    if ask.event_type == "HANDOFF":
        return HandoffPayload(
            subject=ask.subject,
            summary=ask.summary or "",
            next_action=ask.next_action or "",
            requires_ack=ask.requires_ack,
        )
    return BlockedPayload(
        subject=ask.subject,
        blocker=ask.blocker or "",
        requested_action=ask.requested_action or "",
        urgency=ask.urgency or "low",
        requires_ack=True,
    )


def message(ask: SendProtocol) -> str:
    """What stands in the recipient's inbox."""
    where = f" in {ask.scope}" if ask.scope else ""
    if ask.event_type == "HANDOFF":
        lines = [f"Passed to you: {ask.subject} ({ask.task_id}{where})", ask.summary, f"Next: {ask.next_action}"]
    else:
        head = f"Needs input ({ask.urgency}): {ask.subject} ({ask.task_id}{where})"
        lines = [head, ask.blocker, f"Requested: {ask.requested_action}"]
    return "\n\n".join(line or "" for line in lines)


def sending(
    ask: SendProtocol,
    payload: HandoffPayload | BlockedPayload,
    *,
    from_agent: str,
    to_agent: str,
    message_id: str,
    recipients: Sequence[str],
) -> WorkHandedOver | WorkBlocked:
    common = _Common(
        task_id=ask.task_id,
        from_agent=from_agent,
        to_agent=to_agent,
        scope=ask.scope,
        message_id=message_id,
        recipients=UNSET if [to_agent] == recipients else list(recipients),
    )
    if isinstance(payload, HandoffPayload):
        return WorkHandedOver(**common, payload=payload)
    return WorkBlocked(**common, payload=payload)


class _Common(TypedDict):
    task_id: str
    from_agent: str
    to_agent: str
    scope: str | None
    message_id: str
    recipients: list[str] | UnsetType
