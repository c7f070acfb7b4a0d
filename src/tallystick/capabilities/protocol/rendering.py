"""An event of the ledger in the protocol's own envelope."""

from __future__ import annotations

from tallystick.capabilities.protocol.contract import ProtocolEvent
from tallystick.capabilities.protocol.model import VERSION, ProtocolBody
from tallystick.capabilities.protocol.projections import agents_concerned, event_type, task_of
from tallystick.capabilities.turns.events import StickPassed, StickReleased
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import JsonObject, moment


def envelope(event: Event, body: ProtocolBody, project_root: str) -> ProtocolEvent:
    from_agent, to_agent = agents_concerned(body)
    of_stick = isinstance(body, StickReleased | StickPassed)
    return ProtocolEvent(
        id=event.id,
        version=VERSION,
        event_type=event_type(body),
        project_root=project_root,
        bead_id=task_of(body),
        from_agent=from_agent,
        to_agent=to_agent,
        scope=None if of_stick else body.scope,
        created_at=moment(event.ts),
        payload=_stick_payload(body) if of_stick else body.payload.to_data(),
    )


def _stick_payload(body: StickReleased | StickPassed) -> JsonObject:
    """A handoff of the stick: the claim of the turn accepts it, so it asks for no ack of its own."""
    return {
        "subject": f"The stick, turn {body.turn_id}",
        "summary": body.handoff["status"],
        "next_action": body.handoff["next_action"],
        "requires_ack": False,
    }
