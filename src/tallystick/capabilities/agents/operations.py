"""`agents.*`: who is in a room, under which name and role, and who is alive. Adoption is in `adoption`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tallystick.capabilities.agents import adoption, queries, rules
from tallystick.capabilities.agents.contract import (
    AgentHeartbeat,
    Agents,
    AgentView,
    BeatAgent,
    ListAgents,
    RegisterAgent,
    RegisterAgentResult,
    ShowAgent,
    UpdateAgent,
    UpdateAgentResult,
)
from tallystick.capabilities.agents.model import Holdings, Member, Participant, Role, RoomAccess
from tallystick.capabilities.agents.queries import FOLDS
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Reach, moment, operation
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Tx
from tallystick.workspace import git_changes

_About: TypeAlias = ShowAgent | ListAgents | RegisterAgent | UpdateAgent


def _checkouts(tx: Tx, me: Caller, ask: _About) -> Mapping[str, str]:
    """Where on this machine the members of a room work, by their scope; a newcomer has none of its own yet."""
    tx.head(ask.room_id)
    scopes = {"", *(each.scope_key for each in queries.roster(tx, ask.room_id))}
    return {scope_key: tx.use(RoomAccess).roots_here(tx, ask.room_id, scope_key).start for scope_key in scopes}


def _branches(ask: _About, checkouts: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
    found = {scope_key: git_changes.branch(root) for scope_key, root in checkouts().items() if root}
    return {scope_key: name for scope_key, name in found.items() if name}


@operation(
    "agents.register",
    reach=Reach.SPEAK,
    writes=True,
    read_before=_checkouts,
    io_before=_branches,
    examples=({"room_id": "ROOM", "name": "amber-otter"}, {"room_id": "ROOM", "role": "foreman"}),
)
def register(tx: Tx, me: Caller, ask: RegisterAgent, branches: Mapping[str, str]) -> RegisterAgentResult:
    """Take a name in a room that nobody else there has or had, joining the room if you have not; one is found for you.

    Registering again as you are changes nothing; another name or role needs force_update.
    """
    tx.check_open(ask.room_id)
    members = queries.roster(tx, ask.room_id)
    known = rules.find(members, me.agent_id)
    present = known.role if known else Role.PEER
    rules.check_role(present, ask.role, me, foreman=queries.trusted_foreman(tx, ask.room_id, me.agent_id))
    name = _name(tx, ask, me, known)
    if known is None:
        draft = rules.joining(members, me, "", name=name, role=ask.role or Role.PEER)
    else:
        draft = rules.registration(known, name=name, role=ask.role or known.role, force=ask.force_update)
    if draft:
        tx.append(ask.room_id, rules.principal(me.agent_id), [draft])
    if known is None:
        queries.arrive(tx, ask.room_id, me)
    status = "unchanged" if draft is None else "updated" if known and rules.is_registered(known) else "registered"
    return RegisterAgentResult(status=status, room_id=ask.room_id, agent=_view(tx, ask.room_id, me.agent_id, branches))


def _name(tx: Tx, ask: RegisterAgent, me: Caller, known: Participant | None) -> str:
    if ask.name is None:
        if known and rules.is_registered(known):
            return known.name
        return rules.pick_name(queries.names(tx, ask.room_id), f"{ask.room_id}:{me.own_id}")
    name = rules.check_registered_name(ask.name)
    check_free(tx, ask.room_id, name, me.agent_id)
    return name


def check_free(tx: Tx, room_id: str, name: str, agent_id: str) -> None:
    """Refuse a name that another agent of this room has or had."""
    # An id is a name too: nobody may come to look like somebody else.
    owner = name if queries.participant(tx, room_id, name) else queries.owner_of_name(tx, room_id, name)
    present = owner is not None and queries.participant(tx, room_id, owner) is not None
    rules.check_name_free(name, owner, agent_id, present=present)


def _view(tx: Tx, room_id: str, agent_id: str, branches: Mapping[str, str]) -> AgentView:
    return _views(tx, room_id, [queries.named(tx, room_id, agent_id)], branches)[0]


def _views(tx: Tx, room_id: str, members: list[Member], branches: Mapping[str, str]) -> list[AgentView]:
    held = tx.use(Holdings).held(tx, room_id)
    return [
        AgentView.of(
            member,
            [each.what for each in held if each.agent_id == member.agent_id],
            now=tx.now,
            stale_ms=tx.world.stale_ms,
            branch=branches.get(member.scope_key),
        )
        for member in members
    ]


@operation("agents.heartbeat", reach=Reach.SPEAK, writes=True, examples=({"room_id": "ROOM"},))
def heartbeat(tx: Tx, me: Caller, ask: BeatAgent) -> AgentHeartbeat:
    """Say that you are alive. Every other call says it too; this one is for when you have nothing else to ask."""
    mine = queries.member(tx, ask.room_id, me.agent_id)
    member = rules.membership([mine] if mine else [], me)
    queries.touch(tx, ask.room_id, member, me)
    now = queries.named(tx, ask.room_id, me.agent_id)
    alive = rules.liveness(now, now=tx.now, stale_ms=tx.world.stale_ms)
    return AgentHeartbeat(
        room_id=ask.room_id, agent_id=now.agent_id, name=now.name, last_seen_at=moment(now.last_seen_at), liveness=alive
    )


@operation(
    "agents.show",
    reach=Reach.READ,
    read_before=_checkouts,
    io_before=_branches,
    examples=({"room_id": "ROOM", "agent_id": "codex:9b22d0aa"},),
)
def show_agent(tx: Tx, me: Caller, ask: ShowAgent, branches: Mapping[str, str]) -> AgentView:
    """Show one member of a room: when it was last seen, whether it is alive, what it holds and whether it gets on."""
    tx.head(ask.room_id)
    return _view(tx, ask.room_id, ask.agent_id or me.agent_id, branches)


@operation(
    "agents.list",
    reach=Reach.READ,
    read_before=_checkouts,
    io_before=_branches,
    examples=({"room_id": "ROOM"}, {"room_id": "ROOM", "status": "stale"}),
)
def list_agents(tx: Tx, me: Caller, ask: ListAgents, branches: Mapping[str, str]) -> Agents:
    """List the members of a room in turn order: role, when each was last seen, who is alive and who is stalled."""
    tx.head(ask.room_id)
    members = [each for each in queries.members(tx, ask.room_id) if ask.role is None or each.role is ask.role]
    views = _views(tx, ask.room_id, members, branches)
    return Agents(agents=[view for view in views if ask.status is None or view.liveness is ask.status])


@operation(
    "agents.update",
    reach=Reach.SPEAK,
    writes=True,
    read_before=_checkouts,
    io_before=_branches,
    examples=({"room_id": "ROOM", "agent_id": "codex:9b22", "role": "foreman"},),
)
def update_agent(tx: Tx, me: Caller, ask: UpdateAgent, branches: Mapping[str, str]) -> UpdateAgentResult:
    """Change a member's name or role.

    Everybody may change their own name; the user, and a foreman whom the user appointed, may change anyone's name and
    give roles.
    """
    tx.check_open(ask.room_id)
    member = queries.named(tx, ask.room_id, ask.agent_id or me.agent_id)
    foreman = queries.trusted_foreman(tx, ask.room_id, me.agent_id)
    rules.check_updater(member, me, foreman=foreman)
    rules.check_role(member.role, ask.role, me, foreman=foreman)
    if ask.name is not None and ask.name != member.name:
        check_free(tx, ask.room_id, rules.check_name(ask.name), member.agent_id)
    draft = rules.update(member, name=ask.name, role=ask.role)
    if draft:
        tx.append(ask.room_id, rules.principal(me.agent_id), [draft])
    return UpdateAgentResult(changed=draft is not None, agent=_view(tx, ask.room_id, member.agent_id, branches))


CAPABILITY = Capability(
    name="agents",
    package="tallystick.capabilities.agents",
    operations=(
        register,
        show_agent,
        list_agents,
        heartbeat,
        update_agent,
        adoption.adopt,
        adoption.allow_adoption,
        adoption.candidates,
    ),
    folds=FOLDS,
    tables=("agents", "agent_names", "adoptions", "adoption_grants"),
)
