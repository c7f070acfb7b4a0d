"""An event of the ledger in the protocol's own envelope."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.protocol.contract import ProtocolEvent
from tallystick.capabilities.protocol.model import STICK, TYPES, VERSION
from tallystick.capabilities.protocol.projections import parties
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import moment


def envelope(event: Event, project_root: str) -> ProtocolEvent:
    from_agent, to_agent = parties(event)
    data = event.data
    return ProtocolEvent(
        id=event.id,
        version=VERSION,
        event_type=TYPES[event.kind],
        project_root=project_root,
        bead_id=cast("str | None", data.get("task_id")),
        from_agent=from_agent,
        to_agent=to_agent,
        scope=cast("str | None", data.get("scope")),
        created_at=moment(event.ts),
        payload=_stick(event) if event.kind in STICK else cast("dict[str, object]", data["payload"]),
    )


def _stick(event: Event) -> dict[str, object]:
    """A handoff of the stick: whoever claims the turn has accepted it, so it asks for no ack of its own."""
    handoff = cast("dict[str, object]", event.data["handoff"])
    return {
        "subject": f"The stick, turn {event.data['turn_id']}",
        "summary": handoff["status"],
        "next_action": handoff["next_action"],
        "requires_ack": False,
    }
