"""`agents.*`: who is behind a name."""

from __future__ import annotations

from tallystick.capabilities.agents import queries
from tallystick.capabilities.agents.contract import AgentView, ShowAgent
from tallystick.capabilities.agents.errors import AgentNotFound
from tallystick.capabilities.agents.projections import PROJECTIONS
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import operation
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Tx


@operation("agents.show", examples=({"room_id": "ROOM", "agent_id": "codex:9b22d0aa"},))
def show_agent(tx: Tx, me: Caller, ask: ShowAgent) -> AgentView:
    """Show one member of a room: when it was last seen and whether its process is alive."""
    tx.head(ask.room_id)
    wanted = ask.agent_id or me.agent_id
    member = queries.member(tx, ask.room_id, wanted)
    if member is None:
        raise AgentNotFound(f"There is no agent '{wanted}' in this room.", agent_id=wanted)
    return AgentView(
        agent_id=member.agent_id,
        name=member.name,
        role=member.role,
        harness=member.harness,
        ordinal=member.ordinal,
        joined_at=member.joined_at,
        last_seen_at=member.last_seen_at,
        session_kind=member.session,
        pid=member.process.pid if member.process else None,
        process=member.process_state,
    )


CAPABILITY = Capability(
    name="agents",
    package="tallystick.capabilities.agents",
    operations=(show_agent,),
    projections=PROJECTIONS,
    tables=("agents",),
)
