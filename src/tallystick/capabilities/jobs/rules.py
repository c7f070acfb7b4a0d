"""Pure decisions about jobs: whom one is for, who may claim, whose report counts, what may be canceled or done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from tallystick.capabilities.jobs.contract import LONGEST_LEASE_MS, META_LIMIT, SHORTEST_LEASE_MS
from tallystick.capabilities.jobs.errors import (
    CapabilityMissing,
    ClaimHeld,
    ClaimMismatch,
    JobBlocked,
    JobNotClaimable,
    JobNotRunning,
    JobOver,
    JobWasCanceled,
    NotRequeueable,
    ProofMissing,
    ReservedMeta,
    RevisionMismatch,
    RoutedElsewhere,
    RunnerBusy,
    RunnerOffline,
    StillRunning,
)
from tallystick.capabilities.jobs.events import JobStatus, SelectedRunner
from tallystick.capabilities.jobs.model import (
    AUTO,
    PROFILES,
    RESERVED_META,
    Claim,
    Job,
    JobAttention,
    Needs,
    Priority,
    Runner,
)
from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.envelope import to_json
from tallystick.kernel.errors import TooLarge
from tallystick.proof.verdict import ProofVerdict


def attention_marker(seen: JobAttention) -> Literal["!", "?", ""]:
    """The sign of what a job asks of its manager."""
    if seen.has_error:
        return "!"
    if seen.needs_manager:
        return "?"
    return "!" if seen.needs_proof else ""


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


def check_suits(job: Job, runner: Runner) -> None:
    if why := lacking(job.needs, runner):
        raise CapabilityMissing(f"The runner '{runner.runner_id}' cannot take {job.job_id}: {why}.", details=facts(job))


def rerouted(job: Job, online: Sequence[Runner]) -> SelectedRunner | None:
    """Where the job should go once the runner it was meant for is gone or can no longer do it; None until then."""
    meant = next((runner for runner in online if runner.runner_id == job.routed_runner), None)
    if job.routed_runner is None or (meant and suited(job.needs, meant)):
        return None
    return route(job.needs, online)


def check_routed(job: Job, runner: Runner, online: Sequence[Runner]) -> SelectedRunner | None:
    """Refuse a runner that the job is not meant for; gives the new routing when it had to be redone."""
    anew = rerouted(job, online)
    meant = anew.selected_runner_id if anew else job.routed_runner
    if meant not in {None, runner.runner_id} and any(each.runner_id == meant for each in online):
        raise RoutedElsewhere(f"{job.job_id} is meant for the runner '{meant}'.", routed_to=meant, details=facts(job))
    return anew


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


def check_proof(job: Job, verdict: ProofVerdict) -> None:
    """DONE means done: something must prove it; what is urgent needs a checkpoint and a receipt besides."""
    missing: list[str] = []
    if not verdict.proven:
        missing.append("proof")
    if job.priority is Priority.HIGH:
        missing += ["receipt"] if not verdict.receipt else []
        missing += ["checkpoint"] if not job.checkpoint_seq else []
    if missing:
        lacking = " and ".join(missing)
        problems = "; ".join(verdict.problems[:5])
        raise ProofMissing(
            f"{job.job_id} cannot be DONE without {lacking}.{f' Not proof: {problems}.' if problems else ''}",
            missing=missing,
            problems=verdict.problems,
            details=facts(job),
        )


def lease(asked: int | None, default: int) -> int:
    """The lease that is granted: what was asked for, within what is safe."""
    return min(max(default if asked is None else asked, SHORTEST_LEASE_MS), LONGEST_LEASE_MS)


def merged(known: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """A job's meta with some of it changed; what the hub itself wrote there stays."""
    if taken := sorted(RESERVED_META & given.keys()):
        raise ReservedMeta(f"meta.{taken[0]} is written by the hub.", field=f"meta.{taken[0]}")
    whole = {**known, **given}
    if len(to_json(whole).encode()) > META_LIMIT:
        raise TooLarge(f"The job's meta would be larger than {META_LIMIT} bytes.", field="meta", limit=META_LIMIT)
    return whole


def route(needs: Needs, runners: Sequence[Runner]) -> SelectedRunner | None:
    """The one place where a job should run, the same for the same facts in any order; None when nobody can do it."""
    fits = [(runner, executor) for runner in runners for executor in suited(needs, runner)]
    if not fits:
        return None
    runner, executor = min(fits, key=lambda fit: _rank(needs, *fit))
    return SelectedRunner(selected_executor=executor, selected_runner_id=runner.runner_id)


def routing_meta(needs: Needs, chosen: SelectedRunner) -> dict[str, object]:
    """What the job's meta says of it."""
    return {**chosen.to_data(), "policy": needs.policy.data()}


def suited(needs: Needs, runner: Runner) -> list[str]:
    """The runner's executors that may do the job."""
    return [executor for executor in runner.executors if not _lacks(needs, runner, executor)]


def lacking(needs: Needs, runner: Runner) -> str:
    """In words, why the runner cannot do the job; empty when it can."""
    if suited(needs, runner):
        return ""
    reasons = [_lacks(needs, runner, executor) for executor in runner.executors]
    return reasons[0] if reasons else "it has no executor"


def _lacks(needs: Needs, runner: Runner, executor: str) -> str:
    if needs.executor not in {AUTO, executor}:
        return f"the job needs {needs.executor}, and it has {_listed(runner.executors)}"
    if executor in needs.policy.forbid:
        return f"the job forbids {_listed(needs.policy.forbid)}"
    if needs.profile not in runner.profiles:
        return f"the job needs the profile {needs.profile}, and it has {_listed(runner.profiles)}"
    if _level(needs.profile) < _level(needs.policy.min_profile):
        return f"the job's profile {needs.profile} is below its own min_profile {needs.policy.min_profile}"
    missing = [made for made in needs.artifacts if runner.supports_artifacts and made not in runner.supports_artifacts]
    return f"it cannot make {_listed(missing)}" if missing else ""


def _rank(needs: Needs, runner: Runner, executor: str) -> tuple[int, int, int, str, str]:
    prefer = needs.policy.prefer
    preference = prefer.index(executor) if executor in prefer else len(prefer)
    return preference, int(runner.status != "idle"), runner.jobs, runner.runner_id, executor


def _level(profile: str | None) -> int:
    return PROFILES.index(profile) if profile in PROFILES else 0


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
