"""`agents.adopt` and `agents.candidates`: going on as an agent whose session ended before its work did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from tallystick.capabilities.agents import queries, rules
from tallystick.capabilities.agents.contract import (
    AdoptAgent,
    AdoptAgentResult,
    AllowAdoption,
    AllowAdoptionResult,
    Candidate,
    Candidates,
    FindCandidates,
    Recommendation,
)
from tallystick.capabilities.agents.errors import (
    AdoptionNotAllowed,
    AdoptionRejected,
    AgentActive,
    NotAdoptable,
    PersonNeeded,
)
from tallystick.capabilities.agents.events import AdoptionAllowed, AgentResumed, ResumePayload
from tallystick.capabilities.agents.model import (
    AdoptionGround,
    AdoptionReason,
    Departures,
    Holdings,
    Liveness,
    Member,
    OwnedTask,
    Ownership,
    RoomAccess,
)
from tallystick.kernel import scopes
from tallystick.kernel.caller import Caller, ProcessState, is_person, is_service
from tallystick.kernel.envelope import Draft
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Reach, moment, operation
from tallystick.kernel.scopes import Overlap, PathOutside, RoomPath
from tallystick.ledger.tx import Tx
from tallystick.workspace import git_changes, room_paths
from tallystick.workspace.git_changes import Bead, Changes, WorkLeft
from tallystick.workspace.room_paths import NoWorkspace, RoomRoots, resolve


class FoundOutside(msgspec.Struct, frozen=True, kw_only=True):
    """What was found outside the store: changed files, and the scope that was claimed by name."""

    changes: Changes
    scope: RoomPath | None = None
    beads: Sequence[Bead] = ()


def _roots(tx: Tx, me: Caller, ask: AdoptAgent | FindCandidates) -> RoomRoots | None:
    """Where to look; nowhere for a token's holder, who must not make this machine run git."""
    tx.head(ask.room_id)
    if me.by_token:
        return None
    member = queries.member(tx, ask.room_id, queries.acting(tx, ask.room_id, me).agent_id)
    return tx.use(RoomAccess).roots_here(tx, ask.room_id, member.scope_key if member else "")


def _read_workspace(ask: AdoptAgent | FindCandidates, roots: Callable[[], RoomRoots | None]) -> FoundOutside:
    found = roots()
    at = found or RoomRoots()
    named = room_paths.scope_in_room(ask.scope, at) if isinstance(ask, AdoptAgent) and ask.scope is not None else None
    if found is None:
        if ask.context_path is not None:
            raise NoWorkspace
        return FoundOutside(changes=git_changes.NO_CHANGES, scope=named)
    folder = at.start
    if ask.context_path is not None:
        folder = room_paths.folder_in_room(resolve(ask.context_path).canonical, at)
    return FoundOutside(changes=git_changes.changes(folder, at), scope=named, beads=git_changes.in_progress(folder))


def _reserved(tx: Tx, room_id: str, agent_id: str) -> Sequence[RoomPath]:
    held = [each.path for each in tx.use(Holdings).held(tx, room_id) if each.agent_id == agent_id and each.path]
    return [scopes.lexical(path) for path in held]


def _tasks(tx: Tx, room_id: str, of: Member, me: Caller, seen: FoundOutside) -> Sequence[OwnedTask]:
    """What an agent works on, in other eyes than the caller's: its tasks here, and its beads in the workspace."""
    own = tx.use(Ownership).in_progress(tx, room_id, of.agent_id)
    mine = {me.own_id, rules.principal(me.own_id)}
    theirs = [OwnedTask(task_id=each.id) for each in seen.beads if each.assignee in (of.agent_id, of.name)]
    return [*(task for task in own if mine.isdisjoint(task.made_by)), *theirs]


def _ground(
    tx: Tx, room_id: str, target: Member, me: Caller, seen: FoundOutside
) -> tuple[WorkLeft, AdoptionGround | None]:
    """What an agent left behind, and whether it is a ground: changed files count where it had reserved them."""
    reserved = _reserved(tx, room_id, target.agent_id)
    scope = within(reserved, seen.scope) if seen.scope else reserved
    # Somebody who reserved nothing may have touched anything: changed files alone do not point at it.
    changed = seen.changes if scope else Changes(files=seen.changes.files and [])
    left = git_changes.work_left(changed, scope or [seen.scope or scopes.room_path("")])
    return left, adoption_ground(left, _tasks(tx, room_id, target, me, seen))


def within(reserved: Sequence[RoomPath], named: RoomPath) -> list[RoomPath]:
    """The part of what an agent reserved that a named scope covers."""
    inside = [each for each in reserved if scopes.covers(named, each)]
    return inside or [named for each in reserved if scopes.covers(each, named)][:1]


@operation(
    "agents.adopt",
    reach=Reach.WORK,
    writes=True,
    read_before=_roots,
    io_before=_read_workspace,
    examples=({"room_id": "ROOM", "agent_id": "amber-otter", "scope": "src/*"},),
)
def adopt(tx: Tx, me: Caller, ask: AdoptAgent, seen: FoundOutside) -> AdoptAgentResult:
    """Go on as an agent whose session is over: you act under its id from now on, with all it reserved and was sent.

    Only when it is no longer active and its process is not known to live, and only with a ground that you did not make:
    uncommitted files in what it reserved, a task of its own in progress there, or a person's word. Its stick, if it
    holds it, is taken over like any other.
    """
    tx.check_open(ask.room_id)
    target = queries.named(tx, ask.room_id, ask.agent_id)
    left, found = _ground(tx, ask.room_id, target, me, seen)
    alive = rules.liveness(target, now=tx.now, stale_ms=tx.world.stale_ms)
    granted = queries.adoption_grant(tx, ask.room_id, target.agent_id, me.own_id)
    ground = check_adoption(target, me, alive, found, left, granted=granted, confirm=ask.confirm)
    if mine := queries.member(tx, ask.room_id, me.agent_id):
        tx.use(RoomAccess).check_leaving(tx, ask.room_id, me)
        tx.use(Departures).left(tx, ask.room_id, mine.agent_id)
        tx.append(ask.room_id, rules.principal(me.agent_id), [rules.leaving(mine)])
        queries.forget(tx, ask.room_id, me.agent_id)
    draft = resumption(target, me, ground, left.scope, confirmed=found is None)
    (event,) = tx.append(ask.room_id, "system", [draft])
    queries.supersede(tx, ask.room_id, target)
    queries.arrive(tx, ask.room_id, replace(me, agent_id=target.agent_id, session_id=me.own_id))
    return AdoptAgentResult(
        room_id=ask.room_id,
        agent_id=target.agent_id,
        name=target.name,
        session_id=me.own_id,
        reason=ground.reason,
        evidence=ground.evidence,
        task_ids=list(ground.task_ids),
        confirmed=found is None,
        event_seq=event.seq,
    )


@operation(
    "agents.candidates",
    reach=Reach.READ,
    read_before=_roots,
    io_before=_read_workspace,
    examples=({"room_id": "ROOM"},),
)
def candidates(tx: Tx, me: Caller, ask: FindCandidates, seen: FoundOutside) -> Candidates:
    """Say what a new session should do, and why: go on for an agent that left work behind, or register."""
    tx.head(ask.room_id)
    members = [each for each in queries.members(tx, ask.room_id) if each.agent_id != me.agent_id]
    found = [candidate for each in members if (candidate := _candidate(tx, ask.room_id, each, me, seen))]
    name = rules.pick_name(queries.names(tx, ask.room_id), f"{ask.room_id}:{me.own_id}")
    return Candidates(
        room_id=ask.room_id,
        agent_id=me.agent_id,
        candidates=found,
        recommendation=recommend(found, name),
    )


def _candidate(tx: Tx, room_id: str, member: Member, me: Caller, seen: FoundOutside) -> Candidate | None:
    alive = rules.liveness(member, now=tx.now, stale_ms=tx.world.stale_ms)
    if alive is Liveness.ACTIVE or member.process_state is ProcessState.ALIVE or not adoptable(member.agent_id):
        return None
    _left, ground = _ground(tx, room_id, member, me, seen)
    if ground is None:
        return None
    return Candidate(
        agent_id=member.agent_id,
        name=member.name,
        liveness=alive,
        last_seen_at=moment(member.last_seen_at),
        reason=ground.reason,
        evidence=ground.evidence,
        task_ids=list(ground.task_ids),
    )


SHOWN = 5
"""So many files an evidence names."""


def adoption_ground(left: WorkLeft, tasks: Sequence[OwnedTask]) -> AdoptionGround | None:
    """What shows that there is work of an agent to go on with, if anything does."""
    relevant = [task.task_id for task in tasks if _concerns(task, left.scope)]
    owned = f"{_count(len(relevant), 'task')} in progress: {', '.join(relevant)}" if relevant else ""
    if left.files:
        named = ", ".join(left.files[:SHOWN]) + (", …" if len(left.files) > SHOWN else "")
        where = ", ".join(room_path.path for room_path in left.scope[:SHOWN])
        text = f"{_count(len(left.files), 'uncommitted file')} in {where}: {named}"
        both = f"{text}; {owned}" if owned else text
        return AdoptionGround(reason=AdoptionReason.UNCOMMITTED_SCOPE, evidence=both, task_ids=relevant)
    if relevant:
        return AdoptionGround(reason=AdoptionReason.IN_PROGRESS_OWNERSHIP, evidence=owned, task_ids=relevant)
    return None


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _concerns(task: OwnedTask, scope: Sequence[RoomPath]) -> bool:
    """Whether a task is about a scope; one that names no place may be about any."""
    return not task.paths or any(_overlaps(path, room_path) for path in task.paths for room_path in scope)


def _overlaps(path: str, room_path: RoomPath) -> bool:
    try:
        where = scopes.room_path(scopes.relative(scopes.literal(path).removesuffix("/*")))
    except (PathOutside, InvalidField):
        return False
    return scopes.classify(where, room_path) is not Overlap.DISJOINT


def adoptable(agent_id: str) -> bool:
    """Whether anybody may act for this principal: for agents only."""
    return agent_id != "system" and not is_person(agent_id) and not is_service(agent_id)


def check_adoption(
    target: Member,
    me: Caller,
    alive: Liveness,
    found: AdoptionGround | None,
    left: WorkLeft,
    *,
    granted: int | None,
    confirm: bool,
) -> AdoptionGround:
    """The ground on which the caller goes on as the target; refused while that lives, or when nothing speaks for it."""
    if target.agent_id == me.agent_id:
        raise InvalidField("You are that agent already.", field="agent_id")
    if not adoptable(target.agent_id):
        raise NotAdoptable(f"Nobody acts for {target.agent_id} but itself.", agent_id=target.agent_id)
    if me.by_token and granted is None and not rules.persons_session(me):
        raise AdoptionNotAllowed(f"Nobody has let {me.own_id} go on as {target.name}.", agent_id=target.agent_id)
    if target.process_state is ProcessState.ALIVE:
        pid = target.process.pid if target.process else None
        raise AgentActive(f"The process of {target.name} is alive.", agent_id=target.agent_id, pid=pid)
    if alive is Liveness.ACTIVE:
        raise AgentActive(f"{target.name} is active.", agent_id=target.agent_id, liveness=alive.value)
    if found:
        return found
    if granted is not None:
        return _persons_word(f"a person allowed it (event {granted})")
    if confirm and rules.persons_session(me):
        return _persons_word(f"{me.own_id} confirmed it")
    where = ", ".join(room_path.path for room_path in left.scope[:SHOWN])
    looked = "are no uncommitted files" if left.has_repository else "is no git repository"
    raise AdoptionRejected(
        f"There {looked} in {where}, and {target.name} has no task in progress there.",
        agent_id=target.agent_id,
        scope=[room_path.path for room_path in left.scope],
        uncommitted=0,
        in_progress=[],
    )


def _persons_word(what: str) -> AdoptionGround:
    evidence = f"Nothing was found that is left to do; {what}."
    return AdoptionGround(reason=AdoptionReason.IN_PROGRESS_OWNERSHIP, evidence=evidence)


@operation(
    "agents.allow_adoption",
    reach=Reach.MANAGE,
    writes=True,
    examples=({"room_id": "ROOM", "agent_id": "amber-otter", "session_id": "codex:9b22"},),
)
def allow_adoption(tx: Tx, me: Caller, ask: AllowAdoption) -> AllowAdoptionResult:
    """Let one session go on as an agent whose own session is over, as a person; an agent by token needs this."""
    tx.check_open(ask.room_id)
    if not rules.persons_session(me):
        raise PersonNeeded(f"You are '{me.own_id}'.", agent_id=me.own_id)
    target = queries.named(tx, ask.room_id, ask.agent_id)
    session = queries.named(tx, ask.room_id, ask.session_id)
    if not adoptable(target.agent_id):
        raise NotAdoptable(f"Nobody acts for {target.agent_id} but itself.", agent_id=target.agent_id)
    body = AdoptionAllowed(agent_id=target.agent_id, session_id=session.agent_id)
    (event,) = tx.append(ask.room_id, rules.principal(me.own_id), [Draft.of(body, scope_key=target.scope_key)])
    return AllowAdoptionResult(
        room_id=ask.room_id, agent_id=target.agent_id, session_id=session.agent_id, event_seq=event.seq
    )


def resumption(
    target: Member, me: Caller, ground: AdoptionGround, scope: Sequence[RoomPath], *, confirmed: bool
) -> Draft:
    body = AgentResumed(
        task_id=ground.task_ids[0] if ground.task_ids else None,
        task_ids=list(ground.task_ids),
        from_agent=me.own_id,
        to_agent=target.agent_id,
        scope=scope[0].path if len(scope) == 1 else None,
        session_id=me.own_id,
        agent_id=target.agent_id,
        confirmed=confirmed,
        payload=ResumePayload(
            resume_reason=ground.reason.value,
            prior_session_agent=target.agent_id,
            adopted_agent=target.agent_id,
            evidence=ground.evidence,
        ),
    )
    return Draft.of(body, scope_key=target.scope_key)


def recommend(candidates: Sequence[Candidate], name: str) -> Recommendation:
    """The one thing to do: go on for whoever left work behind most recently, else begin under a new name."""
    if not candidates:
        return Recommendation(
            action="register",
            agent_id=None,
            name=name,
            reason="no_unfinished_work: nobody who left has uncommitted files or a task in progress here",
        )
    first = min(candidates, key=lambda each: (-each.last_seen_at, each.agent_id))
    return Recommendation(
        action="adopt", agent_id=first.agent_id, name=None, reason=f"{first.reason.value}: {first.evidence}"
    )
