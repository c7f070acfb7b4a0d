"""Pure decisions about jobs: whom one is for, who may claim, whose report counts, what may be canceled or done."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs.contract import META_LIMIT, MODEL_NAME
from tallystick.capabilities.jobs.errors import (
    CapabilityMissing,
    ClaimHeld,
    ClaimMismatch,
    ContradictoryLimits,
    JobAwaitsAnswer,
    JobBlocked,
    JobNotClaimable,
    JobNotRunning,
    JobOver,
    JobWasCanceled,
    ManagerSpoke,
    NotFailed,
    NotRequeueable,
    OwnWaiver,
    PreferredElsewhere,
    ProofMissing,
    ReservedMeta,
    ReservedReportKind,
    RevisionMismatch,
    RunnerBusy,
    RunnerOffline,
    StillRunning,
)
from tallystick.capabilities.jobs.events import JobBranch, JobStatus, SelectedRunner
from tallystick.capabilities.jobs.model import (
    AUTO,
    EXECUTORS,
    HUB_KINDS,
    LONGEST_LEASE_MS,
    PROFILES,
    RESERVED_META,
    SHORTEST_LEASE_MS,
    Claim,
    ExecutorOrder,
    Job,
    JobAttention,
    Needs,
    Priority,
    Runner,
)
from tallystick.kernel.caller import Caller, is_person
from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.envelope import to_json
from tallystick.kernel.errors import InvalidField, TooLarge
from tallystick.kernel.hints import step
from tallystick.proof.commands import inconclusive, plain
from tallystick.proof.refs import RefKind, parse
from tallystick.proof.verdict import ProofVerdict


def attention_marker(seen: JobAttention) -> Literal["!", "?", ""]:
    """The sign of what a job asks of its manager: a question goes first, because it comes with a way to answer."""
    if seen.needs_manager:
        return "?"
    return "!" if seen.failed or seen.has_error or seen.needs_proof else ""


def marker(seen: JobAttention, *, stale: bool) -> Literal["!", "?", "~", ""]:
    """The one sign that a job gets in the radar."""
    return attention_marker(seen) or ("~" if stale else "")


def facts(job: Job) -> Mapping[str, object]:
    """What every refusal about a job carries."""
    return {"job_id": job.job_id, "status": job.status.value, "runner_id": job.runner_id, "revision": job.revision}


def check_runner(runner: Runner | None, runner_id: str, held: int, *, now: Instant) -> Runner:
    """The runner that wants to claim: there, and with room for one more."""
    if runner is None or not runner.online(now):
        raise RunnerOffline(f"The runner '{runner_id}' has no active lease.", runner_id=runner_id)
    if held >= runner.max_parallel:
        raise RunnerBusy(
            f"The runner '{runner_id}' already has {held} of at most {runner.max_parallel} jobs.",
            runner_id=runner_id,
            held=held,
            max_parallel=runner.max_parallel,
        )
    return runner


def check_claimable(
    job: Job,
    claim: Claim | None,
    after: Sequence[tuple[str, str]],
    *,
    allow_stale: bool,
    now: Instant,
) -> None:
    """Queued with nothing before it, or running with a claim that has run out."""
    if job.status is JobStatus.QUEUED:
        if job.blocked:
            waiting = [job_id for job_id, status in after if status != JobStatus.DONE]
            raise JobBlocked(f"{job.job_id} comes after {', '.join(waiting)}.", after=waiting, details=facts(job))
        if job.attention.needs_manager and claim and not claim.expired(now):
            until = to_wire(claim.expires_at)
            raise JobAwaitsAnswer(
                f"{job.job_id} waits until {until} for the manager's answer.", waits_until=until, details=facts(job)
            )
        return
    if job.status is not JobStatus.RUNNING:
        raise JobNotClaimable(f"{job.job_id} is {job.status.value}.", details=facts(job))
    if claim and not claim.expired(now):
        until = to_wire(claim.expires_at)
        raise ClaimHeld(
            f"{job.job_id} is held by the runner '{claim.runner_id}' until {until}.",
            claim_expires_at=until,
            details=facts(job),
        )
    if not allow_stale:
        raise JobNotClaimable(
            f"The claim of the runner '{job.runner_id}' on {job.job_id} has run out; nobody has taken it over.",
            hint="Claim it with allow_stale=true to take it over.",
            details=facts(job),
        )


def check_suits(job: Job, runner: Runner, order: ExecutorOrder) -> None:
    if why := lacking(job.needs, runner, order):
        raise CapabilityMissing(f"The runner '{runner.runner_id}' cannot take {job.job_id}: {why}.", details=facts(job))


PREFERENCE_MS = 10_000
"""So long after its creation a job is kept for a runner with an executor that it prefers, while one is free."""


def check_preferred(
    job: Job, runner: Runner, online: Callable[[], Sequence[Runner]], order: ExecutorOrder, *, now: Instant
) -> None:
    """Refuse a runner while another that is there and free has an executor which the job prefers."""
    needs = job.needs
    if not needs.policy.prefer or job.revision or now >= job.created_at + PREFERENCE_MS:
        return
    free = [each for each in online() if each.jobs < each.max_parallel]
    best, mine = route(needs, free, order), route(needs, [runner], order)
    if best and mine and _preference(needs, best.selected_executor) < _preference(needs, mine.selected_executor):
        raise PreferredElsewhere(
            f"{job.job_id} prefers {best.selected_executor}, which the runner '{best.selected_runner_id}' has.",
            preferred_runner=best.selected_runner_id,
            until=to_wire(job.created_at + PREFERENCE_MS),
            details=facts(job),
        )


def check_holder(job: Job, runner_id: str, claim_revision: int) -> None:
    """Refuse everybody but the holder of the job's current claim. An expired claim that nobody took still counts."""
    if job.status is JobStatus.CANCELED:
        raise JobWasCanceled(f"{job.job_id} was canceled.", details=facts(job))
    if job.status is not JobStatus.RUNNING:
        raise JobNotRunning(f"{job.job_id} is {job.status.value}.", details=facts(job))
    if (job.runner_id, job.revision) != (runner_id, claim_revision):
        raise ClaimMismatch(
            f"{job.job_id} is held by the runner '{job.runner_id}' under claim {job.revision}, "
            f"not by '{runner_id}' under claim {claim_revision}.",
            details=facts(job),
        )


def check_heard(job: Job, heard_seq: int | None) -> None:
    """Refuse the end of a job whose agent did not have the manager's newest message; one that says nothing may end."""
    if heard_seq is not None and job.manager_seq > heard_seq:
        raise ManagerSpoke(
            f"The manager said {job.job_id}@{job.manager_seq} before {job.job_id} had ended.",
            manager_seq=job.manager_seq,
            details=facts(job),
        )


def check_messageable(job: Job) -> None:
    if not job.status.active:
        raise JobOver(f"{job.job_id} is {job.status.value}: nobody would read the message.", details=facts(job))


def check_cancel(job: Job, *, force_running: bool, expected_revision: int | None) -> None:
    if not job.status.active:
        raise JobOver(f"{job.job_id} is already {job.status.value}.", details=facts(job))
    if expected_revision not in {None, job.revision}:
        raise RevisionMismatch(
            f"{job.job_id} is at revision {job.revision}, not {expected_revision}.", details=facts(job)
        )
    if job.status is JobStatus.RUNNING and not force_running:
        raise StillRunning(f"{job.job_id} is being run by '{job.runner_id}'.", details=facts(job))


def check_requeue(job: Job) -> None:
    if job.status.active:
        raise NotRequeueable(f"{job.job_id} is {job.status.value}.", details=facts(job))


def check_acknowledge(job: Job) -> None:
    if not job.attention.failed:
        raise NotFailed(f"{job.job_id} is {job.status.value}; there is no failure to acknowledge.", details=facts(job))


def runs(job: Job, me: Caller, runner: Runner | None) -> bool:
    """Whether somebody's own runner has the job."""
    return runner is not None and runner.agent_id == me.agent_id and job.status is JobStatus.RUNNING


def manages(job: Job, me: Caller, runner: Runner | None, *, foreman: bool) -> bool:
    """Whether somebody may say what proves a job: a person, a foreman of theirs, or who created it and does not run it.

    Any other agent may be the one that a runner started for the job.
    """
    if runs(job, me, runner):
        return False
    return foreman or is_person(me.own_id) or agent_rules.principal(me.agent_id) == job.created_by


def check_waives(job: Job, me: Caller, runner: Runner | None, *, foreman: bool) -> None:
    """Refuse whoever may have done the work: they do not decide that it needs no proof. A token was given the right."""
    if runner and runs(job, me, runner):
        raise OwnWaiver(f"{job.job_id} is run by '{runner.runner_id}', which is yours.", details=facts(job))
    if not me.by_token and not manages(job, me, runner, foreman=foreman):
        raise OwnWaiver(f"{job.job_id} was created by {job.created_by}, not by {me.agent_id}.", details=facts(job))


def unnamed_checks(checks: Sequence[str], refs: Sequence[str]) -> list[str]:
    """The job's checks that no ref names, as refs."""
    said = {plain(ref.value) for text in refs if (ref := parse(text)).kind is RefKind.CMD}
    return [f"CMD: {check}" for check in checks if plain(check) not in said]


def lacking_proof(job: Job, verdict: ProofVerdict) -> list[str]:
    """DONE means done: proof, and every check passed; what is urgent needs a checkpoint and a receipt besides."""
    missing = [] if verdict.proven else ["proof"]
    if job.priority is Priority.HIGH:
        missing += ["receipt"] if not verdict.receipt else []
        missing += ["checkpoint"] if not job.checkpoint_seq else []
    passed = {plain(parse(each.ref).value) for each in verdict.evidence if each.proves and each.kind is RefKind.CMD}
    return [*missing, *(["checks"] if any(plain(check) not in passed for check in job.needs.checks) else [])]


def missing_artifacts(
    expected: Sequence[str], keys: Sequence[str], files: Sequence[str], branch: JobBranch | None
) -> list[str]:
    """What should have come of the job and did not: no artifact of that name, no file that can be it, no branch."""
    return [name for name in expected if not _made(name, keys, files, branch)]


_SUFFIXES = {"diff": {".diff", ".patch"}, "patch": {".diff", ".patch"}, "docs_update": {".md", ".rst", ".adoc", ".txt"}}


def _made(name: str, keys: Sequence[str], files: Sequence[str], branch: JobBranch | None) -> bool:
    named = (*keys, *(posixpath.basename(path) for path in files))
    if any(re.match(rf"{name}(?![a-z0-9])", each, re.IGNORECASE) for each in named):
        return True
    if any(posixpath.splitext(path)[1].lower() in _SUFFIXES.get(name, ()) for path in files):
        return True
    return name in {"diff", "patch"} and branch is not None and branch.files > 0


_NEEDED = {
    "proof": "name in `refs` what came of this job: `FILE: path` of a file that changed, a CARD-… or notes@… written "
    "since, an artifact, or `CMD: pytest -q (exit 0)` that the runner itself saw end",
    "receipt": "it is HIGH, so name a file or a command that was seen to pass as well",
    "checkpoint": "it is HIGH, so report a milestone first, with `kind` checkpoint",
    "checks": "every command in its `checks` has to be seen to end with 0",
}


def proof_missing(job: Job, verdict: ProofVerdict, missing: Sequence[str], artifacts: Sequence[str]) -> ProofMissing:
    """The refusal of a DONE, whose hint speaks of what is missing and of nothing else."""
    needed = [_NEEDED[each] for each in missing]
    needed += [f"put the {name} under `artifact_key` {name}, or name its file" for name in artifacts]
    lacking = " and ".join([*missing, *(f"its {name}" for name in artifacts)])
    problems = "; ".join(verdict.problems[:5])
    waiver = step("jobs.waive", job=job.job_id, reason="…")
    return ProofMissing(
        f"{job.job_id} cannot be DONE without {lacking}.{f' Not proof: {problems}.' if problems else ''}",
        hint=f"Continue the job: {'; '.join(needed)}; then complete it again. "
        f"Whoever manages it may waive the proof: {waiver}.",
        missing=[*missing, *artifacts],
        problems=verdict.problems,
        details=facts(job),
    )


def check_wanted(title: str, prompt: str, checks: Sequence[str]) -> None:
    """Refuse a job that says nothing, or whose checks could never fail."""
    for name, text in (("title", title), ("prompt", prompt)):
        if not text.strip():
            raise InvalidField(f"The {name} is empty.", field=name)
    for check in checks:
        if why := inconclusive(check):
            raise InvalidField(f"The check '{check}' proves nothing: {why}.", field="checks")


_MODEL = re.compile(MODEL_NAME)


def lease(asked: int | None, default: int) -> int:
    """The lease that is granted: what was asked for, within what is safe."""
    return min(max(default if asked is None else asked, SHORTEST_LEASE_MS), LONGEST_LEASE_MS)


def merged(known: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """A job's meta with some of it changed; what the hub itself wrote there stays."""
    if taken := sorted(RESERVED_META & given.keys()):
        raise ReservedMeta(f"meta.{taken[0]} is written by the hub.", field=f"meta.{taken[0]}")
    model = given.get("executor_model")
    if isinstance(model, str) and not _MODEL.fullmatch(model):
        raise InvalidField("executor_model is the name of a model.", field="meta.executor_model")
    whole = {**known, **given}
    if len(to_json(whole).encode()) > META_LIMIT:
        raise TooLarge(f"The job's meta would be larger than {META_LIMIT} bytes.", field="meta", limit=META_LIMIT)
    return whole


def check_limits(needs: Needs) -> None:
    """Refuse a job that no runner could ever take."""
    policy = needs.policy
    if _level(needs.profile) < _level(policy.min_profile):
        raise ContradictoryLimits(
            f"executor_profile {needs.profile} is below policy.min_profile {policy.min_profile}.",
            field="executor_profile",
        )
    if needs.executor in policy.forbid:
        raise ContradictoryLimits(f"policy.forbid rules out the executor {needs.executor} itself.", field="policy")
    if needs.executor == AUTO and not set(EXECUTORS) - set(policy.forbid):
        raise ContradictoryLimits("policy.forbid rules out every executor.", field="policy")
    if both := sorted(set(policy.prefer) & set(policy.forbid)):
        raise ContradictoryLimits(f"policy prefers and forbids {_listed(both)}.", field="policy")


def check_report_kind(kind: str) -> None:
    if kind in HUB_KINDS:
        raise ReservedReportKind(f"'{kind}' is what the hub itself writes; a report cannot.", field="kind")


def route(needs: Needs, runners: Sequence[Runner], order: ExecutorOrder) -> SelectedRunner | None:
    """The one place where a job runs best, the same for the same facts in any order; None when nobody can do it."""
    fits = [(runner, executor) for runner in runners for executor in suited(needs, runner, order)]
    if not fits:
        return None
    runner, executor = min(fits, key=lambda fit: _rank(needs, *fit, order))
    return SelectedRunner(selected_executor=executor, selected_runner_id=runner.runner_id)


def suited(needs: Needs, runner: Runner, order: ExecutorOrder) -> list[str]:
    """The runner's executors that may do the job."""
    return [executor for executor in runner.executors if not _lacks(needs, runner, executor, order)]


def lacking(needs: Needs, runner: Runner, order: ExecutorOrder) -> str:
    """In words, why the runner cannot do the job; empty when it can."""
    if suited(needs, runner, order):
        return ""
    reasons = [_lacks(needs, runner, executor, order) for executor in runner.executors]
    return reasons[0] if reasons else "it has no executor"


def _lacks(needs: Needs, runner: Runner, executor: str, order: ExecutorOrder) -> str:
    if needs.executor not in {AUTO, executor}:
        return f"the job needs {needs.executor}, and it has {_listed(runner.executors)}"
    if executor in needs.policy.forbid:
        return f"the job forbids {_listed(needs.policy.forbid)}"
    if needs.executor == AUTO and executor not in order.get(needs.profile, ()):
        return f"{executor} does not suit the profile {needs.profile} in this room"
    if needs.profile not in runner.profiles:
        return f"the job needs the profile {needs.profile}, and it has {_listed(runner.profiles)}"
    if _level(needs.profile) < _level(needs.policy.min_profile):
        return f"the job's profile {needs.profile} is below its own min_profile {needs.policy.min_profile}"
    missing = [made for made in needs.artifacts if runner.supports_artifacts and made not in runner.supports_artifacts]
    return f"it cannot make {_listed(missing)}" if missing else ""


def _rank(needs: Needs, runner: Runner, executor: str, order: ExecutorOrder) -> tuple[int, int, int, int, str]:
    listed = order.get(needs.profile, ())
    place = listed.index(executor) if executor in listed else len(listed)
    return _preference(needs, executor), place, int(runner.status != "idle"), runner.jobs, runner.runner_id


def _preference(needs: Needs, executor: str) -> int:
    prefer = needs.policy.prefer
    return prefer.index(executor) if executor in prefer else len(prefer)


def _level(profile: str | None) -> int:
    return PROFILES.index(profile) if profile in PROFILES else 0


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
