"""`agents.*`: who is behind a name, and in which role."""

from __future__ import annotations

from tallystick.capabilities.agents import queries, rules
from tallystick.capabilities.agents.contract import Agents, AgentUpdated, AgentView, ListAgents, ShowAgent, UpdateAgent
from tallystick.capabilities.agents.errors import AgentNotFound
from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.agents.projections import PROJECTIONS
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import operation
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Tx


@operation("agents.show", examples=({"room_id": "ROOM", "agent_id": "codex:9b22d0aa"},))
def show_agent(tx: Tx, me: Caller, ask: ShowAgent) -> AgentView:
    """Show one member of a room: when it was last seen and whether its process is alive."""
    tx.head(ask.room_id)
    return AgentView.of(_member(tx, ask.room_id, ask.agent_id or me.agent_id))


def _member(tx: Tx, room_id: str, agent_id: str) -> Member:
    found = queries.member(tx, room_id, agent_id)
    if found is None:
        raise AgentNotFound(f"There is no agent '{agent_id}' in this room.", agent_id=agent_id)
    return found


@operation("agents.list", examples=({"room_id": "ROOM"},))
def list_agents(tx: Tx, me: Caller, ask: ListAgents) -> Agents:
    """List the members of a room in turn order: role, when each was last seen and whether its process is alive."""
    tx.head(ask.room_id)
    return Agents(agents=[AgentView.of(member) for member in queries.members(tx, ask.room_id)])


@operation("agents.update", writes=True, examples=({"room_id": "ROOM", "agent_id": "codex:9b22", "role": "foreman"},))
def update_agent(tx: Tx, me: Caller, ask: UpdateAgent) -> AgentUpdated:
    """Change a member's name or role. Everybody may change their own; a foreman and the user may change anyone's."""
    tx.check_open(ask.room_id)
    member = _member(tx, ask.room_id, ask.agent_id or me.agent_id)
    rules.check_updater(member, queries.member(tx, ask.room_id, me.agent_id), me)
    draft = rules.update(member, name=ask.name, role=ask.role)
    if draft:
        tx.append(ask.room_id, rules.principal(me.agent_id), [draft])
    return AgentUpdated(changed=draft is not None, agent=AgentView.of(_member(tx, ask.room_id, member.agent_id)))


CAPABILITY = Capability(
    name="agents",
    package="tallystick.capabilities.agents",
    operations=(show_agent, list_agents, update_agent),
    projections=PROJECTIONS,
    tables=("agents",),
)
