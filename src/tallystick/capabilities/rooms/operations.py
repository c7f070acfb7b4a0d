"""`rooms.*`: find, join, shape, leave and close the room of a workspace; or see it as it was after any of its events.

A replay is folded from the ledger and from nothing else: leases and presence were never written there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from msgspec import structs

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.contract import MembersHere
from tallystick.capabilities.agents.events import MemberAdded, MemberRemoved, MemberUpdated, SequenceEntered
from tallystick.capabilities.agents.model import Departures, Member, RoomAccess
from tallystick.capabilities.rooms import leaving, notes, queries, rules
from tallystick.capabilities.rooms.contract import (
    AttachScope,
    AttachScopeResult,
    CloseRoom,
    CloseRoomResult,
    CreateRoom,
    CreateRoomResult,
    JoinRoom,
    JoinRoomResult,
    ListRooms,
    PolicyView,
    ReorderMembers,
    ReorderMembersResult,
    ReplayedMember,
    ReplayedRoom,
    Rooms,
    RoomSummary,
    RoomView,
    ScopeView,
    SetPolicy,
    SetPolicyResult,
    ShowRoom,
)
from tallystick.capabilities.rooms.events import SequenceChanged, StickClosed
from tallystick.capabilities.rooms.model import Policy, Room, Sticks
from tallystick.capabilities.rooms.queries import FOLDS
from tallystick.capabilities.rooms.rules import PathTaken
from tallystick.capabilities.turns.events import (
    STICK_EVENTS,
    StickClaimed,
    StickPassed,
    StickReleased,
    StickRevoked,
    StickTakenOver,
)
from tallystick.kernel.caller import Caller, SessionKind, check_agent_id
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Reach, as_record, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.capability import Capability
from tallystick.ledger.contract import Replay
from tallystick.ledger.tx import Tx
from tallystick.workspace.room_paths import RoomRoots, Workspace, resolve


def _workspace(ask: ListRooms | JoinRoom | CreateRoom | AttachScope) -> Workspace | None:
    return resolve(ask.context_path) if ask.context_path is not None else None


def _here(tx: Tx, room: Room, members: list[Member]) -> MembersHere:
    return MembersHere.of(members, now=tx.now, presence_ttl_ms=room.policy.presence_ttl_ms)


@operation(
    "rooms.list", reach=Reach.READ, io_before=_workspace, short="rooms", examples=({"context_path": "/repo/src"}, {})
)
def list_rooms(tx: Tx, me: Caller, ask: ListRooms, workspace: Workspace | None) -> Rooms:
    """List the rooms from a path up to its workspace root, deepest first; without a path, every room, newest first."""
    # What is said above is read by every model, and few of them come by a token for one room.
    if me.room_id:
        found = [queries.room(tx, me.room_id)]
    elif workspace:
        found = [queries.room(tx, scope.room_id) for scope in queries.at_roots(tx, workspace.chain)][: ask.limit]
    else:
        found = queries.every_room(tx, ask.limit)
    return Rooms(rooms=[_summary(tx, room) for room in found])


def _summary(tx: Tx, room: Room) -> RoomSummary:
    members = agents.present_members(tx, room.room_id, room.policy.presence_ttl_ms)
    stick = tx.use(Sticks).summary(tx, room, members)
    return RoomSummary(
        room_id=room.room_id,
        title=room.title,
        canonical_path=room.canonical_path,
        room_state=stick.state,
        owner=stick.owner,
        reserved_for=stick.reserved_for,
        turn_id=stick.turn_id,
        members=[each.agent_id for each in _here(tx, room, members).views],
        created_at=moment(room.created_at),
        closed_at=moment(room.closed_at),
    )


@operation(
    "rooms.join",
    reach=Reach.SPEAK,
    writes=True,
    io_before=_workspace,
    short="join",
    examples=({"context_path": "/repo/src"},),
)
def join(tx: Tx, me: Caller, ask: JoinRoom, workspace: Workspace | None) -> JoinRoomResult:
    """Join the room of a workspace, creating it when there is none; you go to the end of the turn order.

    The path resolves to the deepest room above it. Joining twice changes nothing.
    """
    if (workspace is None) == (ask.room_id is None):
        raise InvalidField("Give either context_path or room_id.", field="context_path")
    if ask.agent_id_override is not None:
        name = check_agent_id(ask.agent_id_override)
        me = replace(me, agent_id=name, display_name=name, session=SessionKind.NAMED, overridden=True)
    target = (
        _find_target(tx, workspace, force_new=ask.force_new) if workspace else rules.JoinTarget(room_id=ask.room_id)
    )
    room_id = target.room_id or _create(tx, me, title=PurePath(target.root).name or target.root, root=target.root)
    tx.lock(room_id)
    me = agents.acting(tx, room_id, me)
    room = queries.open_room(tx, room_id)
    known = agents.member(tx, room_id, me.agent_id)
    if known is None:
        owner = agents.owner_of_name(tx, room_id, me.agent_id)
        agent_rules.check_name_free(me.agent_id, owner, me.agent_id, present=True)
        members = agents.roster(tx, room_id)
        tx.append(room_id, me.agent_id, [agent_rules.joining(members, me, target.scope_key, in_order=ask.in_order)])
        agents.arrive(tx, room_id, me)
    if known and ask.in_order and not known.in_order:
        tx.append(room_id, me.agent_id, [agent_rules.entering(agents.roster(tx, room_id), known)])
    if known and agent_rules.needs_touch(known, me, now=tx.now):
        agents.touch(tx, room_id, known, me)
    members = agents.present_members(tx, room_id, room.policy.presence_ttl_ms)
    stick = tx.use(Sticks).summary(tx, room, members)
    here = _here(tx, room, members)
    return JoinRoomResult(
        agent_id=me.agent_id,
        room_id=room_id,
        canonical_path=room.canonical_path,
        requested_path=workspace.requested if workspace else None,
        workspace_root=workspace.root if workspace else None,
        joined_existing_room=target.room_id is not None,
        warning=target.warning,
        policy=PolicyView.of(room.policy),
        room_state=stick.state,
        owner=stick.owner,
        cursor=str(tx.lock(room_id).seq),
        handoff_template=dict(rules.HANDOFF_TEMPLATE),
        members_here=here.here,
        members_gone=here.gone,
        members=here.views,
    )


def _find_target(tx: Tx, workspace: Workspace, *, force_new: bool) -> rules.JoinTarget:
    def read() -> rules.JoinTarget:
        above = queries.at_roots(tx, workspace.chain)
        return rules.join_target(workspace, above, tx.world.machine_id, force_new=force_new)

    target = read()
    if target.room_id is None:
        # Lock the root only to create a room; another call may have created one meanwhile, so read again.
        queries.lock_root(tx, workspace.root)
        target = read()
    return target


def _create(tx: Tx, me: Caller, *, title: str, root: str) -> str:
    room_id = tx.new_id()
    tx.open_ledger(room_id)
    drafts = [rules.creation(title=title, root=root, policy=Policy())]
    if root:
        drafts.append(rules.attachment(tx.world.machine_id, root))
    tx.append(room_id, me.agent_id, drafts)
    return room_id


@operation("rooms.create", reach=Reach.WORK, writes=True, io_before=_workspace, examples=({"title": "release 2.0"},))
def create(tx: Tx, me: Caller, ask: CreateRoom, workspace: Workspace | None) -> CreateRoomResult:
    """Create a room without joining it: one for a path that has none yet, or one that belongs to no path at all."""
    root = workspace.canonical if workspace else ""
    if workspace:
        queries.lock_root(tx, workspace.root)
        if queries.at_roots(tx, [root]):
            raise PathTaken(f"{root} already has an open room.", canonical_path=root)
    room_id = _create(tx, me, title=ask.title, root=root)
    key = rules.scope_key(tx.world.machine_id, root) if root else ""
    return CreateRoomResult(room_id=room_id, title=ask.title, canonical_path=root, scope_key=key)


@operation("rooms.show", reach=Reach.READ, examples=({"room_id": "ROOM"},))
def show(tx: Tx, me: Caller, ask: ShowRoom) -> RoomView:
    """Show a room: its paths, policy, members and where its ledger ends."""
    room = queries.room(tx, ask.room_id)
    members = agents.present_members(tx, room.room_id, room.policy.presence_ttl_ms)
    here, shown = tx.world.machine_id, _here(tx, room, members)
    return RoomView(
        room_id=room.room_id,
        title=room.title,
        canonical_path=room.canonical_path,
        room_state=tx.use(Sticks).summary(tx, room, members).state,
        created_at=moment(room.created_at),
        created_by=room.created_by,
        closed_at=moment(room.closed_at),
        policy=PolicyView.of(room.policy),
        scopes=[
            ScopeView(scope_key=scope.scope_key, root=scope.root, here=scope.machine_id == here)
            for scope in queries.scopes(tx, room.room_id)
        ],
        head=tx.head(room.room_id).seq,
        members_here=shown.here,
        members_gone=shown.gone,
        members=shown.views,
    )


@operation(
    "rooms.set_policy", reach=Reach.MANAGE, writes=True, examples=({"room_id": "ROOM", "claim_ttl_ms": 300_000},)
)
def set_policy(tx: Tx, me: Caller, ask: SetPolicy) -> SetPolicyResult:
    """Change a room's timeouts, its mode and what counts as proof; what you leave out stays.

    Leases already given keep their end until renewed.
    """
    room = queries.open_room(tx, ask.room_id)
    member = agent_rules.membership(agents.roster(tx, room.room_id), me)
    changes = ask.present(without={"room_id"})
    draft = rules.policy_change(room.policy, changes)
    if draft:
        tx.append(room.room_id, me.agent_id, [structs.replace(draft, scope_key=member.scope_key)])
    policy = queries.room(tx, room.room_id).policy
    return SetPolicyResult(room_id=room.room_id, changed=draft is not None, policy=PolicyView.of(policy))


@operation(
    "rooms.reorder",
    reach=Reach.MANAGE,
    writes=True,
    examples=({"room_id": "ROOM", "sequence": ["codex:9b22d0aa", "claude:1c4e"]},),
)
def reorder(tx: Tx, me: Caller, ask: ReorderMembers) -> ReorderMembersResult:
    """Set the turn order; name every member who is here exactly once. A turn already reserved stays reserved."""
    room = queries.open_room(tx, ask.room_id)
    members = agents.present_members(tx, room.room_id, room.policy.presence_ttl_ms)
    member = agent_rules.membership(members, me)
    sequence = [agent_rules.named(members, who).agent_id for who in ask.sequence]
    present = agent_rules.active(members, now=tx.now, presence_ttl_ms=room.policy.presence_ttl_ms)
    draft = rules.reordering(members, sequence, present=present)
    if draft:
        tx.append(room.room_id, me.agent_id, [structs.replace(draft, scope_key=member.scope_key)])
    return ReorderMembersResult(room_id=room.room_id, changed=draft is not None, sequence=sequence)


@operation(
    "rooms.attach_scope",
    reach=Reach.MANAGE,
    writes=True,
    io_before=_workspace,
    examples=({"room_id": "ROOM", "context_path": "/other/checkout"},),
)
def attach_scope(tx: Tx, me: Caller, ask: AttachScope, workspace: Workspace | None) -> AttachScopeResult:
    """Make another root (a second checkout, the same project on another machine) lead to this room."""
    room = queries.open_room(tx, ask.room_id)
    agent_rules.membership(agents.roster(tx, room.room_id), me)
    root = workspace.canonical if workspace else ""
    queries.lock_root(tx, workspace.root if workspace else "")
    (present,) = queries.at_roots(tx, [root]) or [None]
    if present and present.room_id != room.room_id:
        raise PathTaken(f"{root} belongs to another open room.", room_id=present.room_id)
    if not present:
        tx.append(room.room_id, me.agent_id, [rules.attachment(tx.world.machine_id, root)])
    key = rules.scope_key(tx.world.machine_id, root)
    return AttachScopeResult(room_id=room.room_id, scope_key=key, root=root, changed=present is None)


@operation(
    "rooms.close", reach=Reach.MANAGE, writes=True, short="close", examples=({"room_id": "ROOM", "reason": "shipped"},)
)
def close(tx: Tx, me: Caller, ask: CloseRoom) -> CloseRoomResult:
    """Close a room for good: no further turns. Its history stays readable, and its path is free for a new room.

    While somebody holds the stick only the holder may close; otherwise any member.
    """
    turn_id = tx.use(Sticks).check_closing(
        tx, ask.room_id, me, lease_id=ask.lease_id, expected_turn_id=ask.expected_turn_id
    )
    member = agent_rules.membership(agents.roster(tx, ask.room_id), me)
    tx.use(Departures).closed(tx, ask.room_id)
    body = StickClosed(turn_id=turn_id, from_agent_id=me.agent_id, reason=ask.reason)
    (event,) = tx.append(ask.room_id, me.agent_id, [Draft.of(body, scope_key=member.scope_key)])
    return CloseRoomResult(room_id=ask.room_id, event_seq=event.seq)


class _RoomsOfAgents:
    """Answers `RoomAccess` of `agents`."""

    def roots_here(self, tx: Tx, room_id: str, scope_key: str) -> RoomRoots:
        return queries.roots_here(tx, room_id, scope_key)

    def check_leaving(self, tx: Tx, room_id: str, me: Caller) -> None:
        tx.use(Sticks).check_leaving(tx, room_id, me)


MEMBERSHIP = (MemberAdded.kind, MemberRemoved.kind, MemberUpdated.kind, SequenceEntered.kind, SequenceChanged.kind)


def replayed_members(events: Iterable[Event]) -> list[ReplayedMember]:
    """Who was in the room after these events, in turn order."""
    found: dict[str, ReplayedMember] = {}
    for event in events:
        match event.content:
            case MemberAdded(actor_id=agent_id, name=name, role=role, ordinal=ordinal):
                found[agent_id] = ReplayedMember(agent_id=agent_id, name=name, role=role, ordinal=ordinal)
            case MemberUpdated(actor_id=agent_id, name=name, role=role):
                found[agent_id] = structs.replace(found[agent_id], name=name, role=role)
            case MemberRemoved(actor_id=agent_id):
                found.pop(agent_id, None)
            case SequenceEntered(actor_id=agent_id, ordinal=ordinal):
                found[agent_id] = structs.replace(found[agent_id], ordinal=ordinal)
            case SequenceChanged(sequence=sequence):
                for ordinal, agent_id in enumerate(sequence):
                    found[agent_id] = structs.replace(found[agent_id], ordinal=ordinal)
            case _:
                pass
    return sorted(found.values(), key=lambda member: member.ordinal)


def replayed_stick(last: Event | None, left_since: Sequence[str]) -> dict[str, object]:
    """Whose the stick was after its last event; a turn kept for somebody who has left since is kept for nobody."""
    match last.content if last else None:
        case StickClosed(turn_id=turn_id):
            return {"state": "closed", "turn_id": turn_id}
        case StickClaimed(turn_id=turn_id, to_agent_id=owner, handoff_seq=seq):
            return {"state": "owned", "turn_id": turn_id, "owner": owner, "handoff_event_seq": seq}
        case StickTakenOver(turn_id=turn_id, to_agent_id=owner):
            return {"state": "owned", "turn_id": turn_id, "owner": owner, "handoff_event_seq": None}
        case StickRevoked(turn_id=turn_id, reserved_for=kept_for):
            kept_for = None if kept_for in left_since else kept_for
            return {"state": "reserved" if kept_for else "idle", "turn_id": turn_id, "reserved_for": kept_for}
        case (StickReleased() | StickPassed()) as handed if last:
            reserved_for = None if handed.reserved_for in left_since else handed.reserved_for
            return {
                "state": "reserved" if reserved_for else "idle",
                "turn_id": handed.turn_id,
                "reserved_for": reserved_for,
                "handoff_event_seq": last.seq,
            }
        case _:
            return {"state": "idle"}


@operation("rooms.replay", reach=Reach.READ, examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: Replay) -> ReplayedRoom:
    """Show the room as it was right after one of its events: who was in it, whose turn it was, with which handoff."""
    room = queries.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    history = list(reading.until(tx, room.room_id, ask.seq, kinds=MEMBERSHIP))
    newest = reading.before(tx, room.room_id, ask.seq + 1, kinds=[body.kind for body in STICK_EVENTS], limit=1)
    last = newest[0] if newest else None
    left = [
        body.actor_id
        for each in history
        if last and each.seq > last.seq and isinstance(body := each.content, MemberRemoved)
    ]
    known = {"room_id": room.room_id, "seq": event.seq, "ts": event.ts, "kind": event.kind, "by": event.by}
    return as_record(ReplayedRoom, {**known, **replayed_stick(last, left), "members": replayed_members(history)})


CAPABILITY = Capability(
    name="rooms",
    package="tallystick.capabilities.rooms",
    operations=(
        list_rooms,
        join,
        create,
        show,
        leaving.leave,
        set_policy,
        leaving.remove,
        reorder,
        attach_scope,
        *notes.OPERATIONS,
        replay,
        close,
    ),
    folds=FOLDS,
    tables=("scopes", "rooms"),
    offers={RoomAccess: _RoomsOfAgents()},
)
