"""Pure decisions about adoption: when a session may go on as another agent, and what a new one should do."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.capabilities.agents.contract import Candidate, Recommendation
from tallystick.capabilities.agents.errors import AdoptionRejected, AgentActive
from tallystick.capabilities.agents.events import AgentResumed, ResumePayload
from tallystick.capabilities.agents.model import AdoptionGround, AdoptionReason, Liveness, Member, OwnedTask
from tallystick.kernel import scopes
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.envelope import Draft
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.scopes import Overlap, PathOutside, RoomPath
from tallystick.workspace.git_changes import WorkLeft

SHOWN = 5
"""So many files an evidence names."""


def ground(left: WorkLeft, tasks: Sequence[OwnedTask]) -> AdoptionGround | None:
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


def check_adoption(
    target: Member, me: Caller, alive: Liveness, found: AdoptionGround | None, left: WorkLeft, *, confirm: bool
) -> AdoptionGround:
    """The ground on which the caller goes on as the target; refused while that lives, or when nothing speaks for it."""
    if target.agent_id == me.agent_id:
        raise InvalidField("You are that agent already.", field="agent_id")
    if alive is Liveness.ACTIVE:
        raise AgentActive(f"{target.name} is active.", agent_id=target.agent_id, liveness=alive.value)
    if found:
        return found
    if confirm and me.session is not SessionKind.MCP_HARNESS:
        evidence = f"Nothing was found that is left to do; {me.own_id} confirmed it."
        return AdoptionGround(reason=AdoptionReason.IN_PROGRESS_OWNERSHIP, evidence=evidence)
    where = ", ".join(room_path.path for room_path in left.scope[:SHOWN])
    looked = "are no uncommitted files" if left.has_repository else "is no git repository"
    raise AdoptionRejected(
        f"There {looked} in {where}, and {target.name} has no task in progress there.",
        agent_id=target.agent_id,
        scope=[room_path.path for room_path in left.scope],
        uncommitted=0,
        in_progress=[],
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
