"""What a runner does with a job: `jobs.claim` and `report`, and `jobs.release`, which gives it back; and how it ends.

`jobs.complete` takes DONE only with evidence; `jobs.waive` is a manager's word instead.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from msgspec import UNSET, structs

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import evidence, queries, queue, rules
from tallystick.capabilities.jobs.contract import LEASE_MS, ClaimJob, CompleteJob, ReleaseJob, ReportJob, WaiveProof
from tallystick.capabilities.jobs.errors import ClaimRefused
from tallystick.capabilities.jobs.events import (
    JobBranch,
    JobClaimed,
    JobCompleted,
    JobQuestioned,
    JobReleased,
    JobReported,
    JobStatus,
    JobWaived,
    ResumePoint,
)
from tallystick.capabilities.jobs.model import AUTO, ExecutorOrder, Job, Runner
from tallystick.capabilities.jobs.queries import SQL
from tallystick.capabilities.jobs.runners_contract import BranchAsk
from tallystick.capabilities.jobs.views import ClaimJobResult, JobChanged, JobEvent, JobView, Reported
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Reach, as_record, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.proof.files import FileFact, FilesToRead
from tallystick.proof.refs import salvage
from tallystick.proof.verdict import ProofVerdict


@operation(
    "jobs.claim",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "runner_id": "r1"}, {"room_id": "ROOM", "runner_id": "r1", "job": "JOB-001"}),
)
def claim(tx: Tx, me: Caller, ask: ClaimJob) -> ClaimJobResult:
    """Take a job to run it: the one named, or the next that this runner may take; by priority, then the oldest.

    The answer has the prompt and the claim_revision that every report and the completion must carry. Report within the
    lease to keep the job. `allow_stale` also takes over a job whose runner went silent. An answer without a job means
    that there is nothing to do.
    """
    tx.check_open(ask.room_id)
    runner = _runner(tx, ask)
    # Looked up once, and only for a job that prefers one executor to another.
    online = cache(partial(queries.runners_online, tx, ask.room_id))
    if ask.job is not None:
        job = queries.job(tx, ask.room_id, ask.job)
        _check(tx, job, runner, online, allow_stale=ask.allow_stale)
        return _take(tx, me, ask, job, runner=runner)
    for job in _candidates(tx, ask):
        try:
            _check(tx, job, runner, online, allow_stale=ask.allow_stale)
        except ClaimRefused:
            continue
        return _take(tx, me, ask, job, runner=runner)
    return ClaimJobResult(
        job=None,
        event=None,
        claim_revision=None,
        claim_expires_at=None,
        began_at=None,
        executor=None,
        prompt=None,
        meta={},
        artifacts=[],
    )


def _runner(tx: Tx, ask: ClaimJob) -> Runner:
    found = queries.claimant(tx, ask.room_id, ask.runner_id)
    # Whoever has less work in all than it can run at once has room; only otherwise are its claims counted.
    crowded = found is not None and found.jobs >= found.max_parallel
    held = queries.held(tx, ask.room_id, ask.runner_id) if crowded else 0
    return rules.check_runner(found, ask.runner_id, held, now=tx.now)


def _candidates(tx: Tx, ask: ClaimJob) -> Iterator[Job]:
    lost = queries.stale(tx, ask.room_id) if ask.allow_stale else []
    return heapq.merge(queue.ready(tx, ask.room_id), lost, key=lambda job: (job.priority, job.number))


def _check(tx: Tx, job: Job, runner: Runner, online: Callable[[], Sequence[Runner]], *, allow_stale: bool) -> None:
    """Refuse unless this runner may have this job now."""
    claimed = job.status is JobStatus.RUNNING or job.attention.needs_manager
    present = queries.claim(tx, job) if claimed else None
    after = queries.comes_after(tx, job) if job.blocked else ()
    rules.check_claimable(job, present, after, allow_stale=allow_stale, now=tx.now)
    order = _order(tx, job)
    rules.check_suits(job, runner, order)
    rules.check_preferred(job, runner, online, order, now=tx.now)


def _order(tx: Tx, job: Job) -> ExecutorOrder:
    """A job that names its executor needs no order of them."""
    return queries.executor_order(tx, job.room_id) if job.executor == AUTO else {}


def _take(tx: Tx, me: Caller, ask: ClaimJob, job: Job, *, runner: Runner) -> ClaimJobResult:
    queries.remember(tx, job)
    by, until = agent_rules.principal(me.agent_id), tx.now + rules.lease(ask.lease_ttl_ms, LEASE_MS)
    (event,) = tx.append(ask.room_id, by, [Draft.of(_claimed(job, runner.runner_id, until))])
    now = queries.job(tx, ask.room_id, job.job_id)
    return ClaimJobResult(
        job=JobView.of(now, until),
        event=JobEvent.of(event),
        claim_revision=now.revision,
        claim_expires_at=moment(until),
        began_at=moment(evidence.JobRecord(tx, now).began.at if job.revision else event.ts),
        executor=_executor(tx, now, runner),
        prompt=queue.prompt(tx, job),
        meta=now.meta_data,
        artifacts=[each.artifact_key for each in queries.artifacts(tx, job)] if job.revision else [],
    )


def _executor(tx: Tx, job: Job, runner: Runner) -> str:
    chosen = rules.route(job.needs, [runner], _order(tx, job))
    return chosen.selected_executor if chosen else runner.executors[0]


def _claimed(job: Job, runner_id: str, until: int) -> JobClaimed:
    again = job.status is JobStatus.RUNNING
    said = "reclaimed" if again else "claimed"
    return JobClaimed(
        job_id=job.job_id,
        event=said,
        message=f"{said} by {runner_id}",
        runner_id=runner_id,
        claim_revision=job.revision + 1,
        expires_at=until,
        meta={"previous_runner_id": job.runner_id, "reason": "ttl_expired"} if again else UNSET,
    )


_HOLDER = {"room_id": "ROOM", "job": "JOB-001", "runner_id": "r1", "claim_revision": 1}


@operation(
    "jobs.report",
    reach=Reach.WORK,
    writes=True,
    examples=(
        {**_HOLDER, "kind": "progress", "message": "parser rewritten, 3 of 5 tests pass", "percent": 60},
        {**_HOLDER, "kind": "question", "message": "May I change the public API?"},
    ),
)
def report(tx: Tx, me: Caller, ask: ReportJob) -> Reported:
    """Say how a job is going, and keep it: every report renews the claim.

    `question` calls the manager, `checkpoint` is a milestone, `error` and `proof_gate` ask for attention, and a
    `heartbeat` only renews. A refusal means that the job is no longer yours: stop.
    """
    tx.check_open(ask.room_id)
    rules.check_report_kind(ask.kind)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_holder(job, ask.runner_id, ask.claim_revision)
    queries.check_runner_owner(tx, ask.room_id, ask.runner_id, me)
    until = tx.now + rules.lease(ask.lease_ttl_ms, LEASE_MS)
    if ask.kind == "heartbeat":
        _beat(tx, job, ask, until)
        return Reported.of(job, None, until)
    rules.merged(job.meta_data, ask.meta)
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(_reported(tx, job, ask))])
    tx.run(SQL["renew"], room_id=job.room_id, number=job.number, expires_at=until)
    return Reported.of(queries.job(tx, ask.room_id, ask.job), event, until)


def _reported(tx: Tx, job: Job, ask: ReportJob) -> JobReported | JobQuestioned:
    seen = evidence.observed(ask.observed, now=tx.now)
    kind = JobQuestioned if ask.kind == "question" else JobReported
    body = kind(
        job_id=job.job_id,
        event=ask.kind,
        message=ask.message,
        percent=ask.percent,
        refs=ask.refs,
        meta=ask.meta,
        runner_id=ask.runner_id,
        claim_revision=ask.claim_revision,
        proof=evidence.proves(tx, job, ask.refs, seen),
        observed=seen or UNSET,
    )
    if isinstance(body, JobQuestioned):
        return body
    return structs.replace(
        body,
        slice=UNSET if ask.slice is None else ask.slice,
        resume=UNSET if ask.resume is None else ResumePoint(**structs.asdict(ask.resume)),
        # Nobody has been given what was never said.
        delivered_seq=UNSET if ask.delivered_seq is None else min(ask.delivered_seq, job.manager_seq),
        read_seq=UNSET if ask.read_seq is None else min(ask.read_seq, job.manager_seq),
    )


def _beat(tx: Tx, job: Job, ask: ReportJob, until: int) -> None:
    tx.run(
        SQL["beat"],
        room_id=job.room_id,
        number=job.number,
        expires_at=until,
        now=tx.now,
        message=ask.message,
        percent=ask.percent,
    )


@operation(
    "jobs.release",
    reach=Reach.WORK,
    writes=True,
    examples=(
        {"room_id": "ROOM", "job": "JOB-001", "runner_id": "r1", "claim_revision": 1, "reason": "the runner stops"},
    ),
)
def release(tx: Tx, me: Caller, ask: ReleaseJob) -> JobChanged:
    """Give a job back that you hold: it is queued again, and whoever takes it goes on where it was.

    While a question of it is open nobody takes it before the manager has answered, or answer_wait_s is over.
    """
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_holder(job, ask.runner_id, ask.claim_revision)
    queries.check_runner_owner(tx, ask.room_id, ask.runner_id, me)
    waits = job.attention.needs_manager
    why = ask.reason or ("waits for the manager's answer" if waits else "")
    body = JobReleased(
        job_id=job.job_id,
        event="released",
        message=f"released by {ask.runner_id}{f': {why}' if why else ''}",
        runner_id=ask.runner_id,
        claim_revision=ask.claim_revision,
        revision=job.revision + 1,
        waits_until=tx.now + ask.answer_wait_s * 1000 if waits else UNSET,
    )
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    now = queries.job(tx, ask.room_id, ask.job)
    waiting = queries.claim(tx, now) if waits else None
    return JobChanged(job=JobView.of(now, waiting.expires_at if waiting else None), event=JobEvent.of(event))


def resume_point(tx: Tx, job: Job) -> ResumePoint | None:
    """Where the last slice left it. A job that was queued anew keeps what was learned, and counts from the start."""
    if not job.resume_seq:
        return None
    found = reading.event_at(tx, job.room_id, job.resume_seq).read(JobReported).resume
    if found is UNSET:
        return None
    return found if job.slices else structs.replace(found, failures=0, gates=0, seconds=0)


def _where(tx: Tx, me: Caller, ask: CompleteJob) -> FilesToRead:
    return evidence.where(tx, me, ask.room_id)


def _read_files(ask: CompleteJob, where: Callable[[], FilesToRead]) -> Mapping[str, FileFact]:
    """Read the files that refs name, except those that the runner measured where the job worked."""
    refs = salvage(ask.refs, ask.summary or "") if ask.status == "DONE" else []
    return evidence.read_files(refs, where, known={each.path for each in ask.files})


@operation(
    "jobs.complete",
    reach=Reach.WORK,
    writes=True,
    read_before=_where,
    io_before=_read_files,
    examples=(
        {
            "room_id": "ROOM",
            "job": "JOB-001",
            "runner_id": "r1",
            "claim_revision": 1,
            "status": "DONE",
            "summary": "Parser rewritten; all tests pass.",
            "refs": ["FILE: src/parser.py", "CMD: pytest -q (exit 0)"],
        },
    ),
)
def complete(tx: Tx, me: Caller, ask: CompleteJob, seen: Mapping[str, FileFact]) -> JobChanged:
    """End a job that you hold: DONE, FAILED or CANCELED, with a summary and refs to what holds the result.

    DONE needs evidence that came of this job: a file that changed since work began, a card, note or artifact written
    since, or a command that the runner itself saw end with 0. What is merely claimed is kept and proves nothing, unless
    the room's policy takes claims. Without evidence it is refused; continue the job and complete it again.
    """
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_holder(job, ask.runner_id, ask.claim_revision)
    queries.check_runner_owner(tx, ask.room_id, ask.runner_id, me)
    rules.check_heard(job, ask.heard_seq)
    rules.merged(job.meta_data, ask.meta)
    refs = salvage(ask.refs, ask.summary or "") if ask.status == "DONE" else ask.refs
    commands = evidence.observed(ask.observed, now=tx.now)
    files = {**seen, **evidence.measured(ask.files, ask.runner_id, now=tx.now)}
    checks = rules.unnamed_checks(job.needs.checks, refs) if ask.status == "DONE" else []
    verdict = evidence.judged(tx, job, [*refs, *checks], files=files, seen=commands)
    found = evidence.recorded(verdict.evidence, ask.files)
    branch = _branch(ask.branch) if ask.branch else None
    missing = evidence.missing_artifacts(tx, job, found, branch)
    body = JobCompleted(
        job_id=job.job_id,
        event=ask.status.lower() if ask.status != "DONE" else "completed",
        message=ask.status.lower(),
        status=JobStatus(ask.status),
        revision=job.revision + 1,
        summary=ask.summary,
        refs=refs,
        meta=ask.meta,
        runner_id=ask.runner_id,
        claim_revision=ask.claim_revision,
        observed=commands or UNSET,
        evidence=found,
        accepted=(_accepted(tx, job, verdict, missing) if ask.status == "DONE" else None) or UNSET,
        branch=branch or UNSET,
    )
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    return JobChanged(job=JobView.of(queries.job(tx, ask.room_id, ask.job)), event=JobEvent.of(event))


def _branch(ask: BranchAsk) -> JobBranch:
    return as_record(JobBranch, ask.to_data())


def _accepted(tx: Tx, job: Job, verdict: ProofVerdict, artifacts: Sequence[str]) -> str | None:
    """What lets it be DONE where that is no evidence; refuses a job that lacks it."""
    missing = rules.lacking_proof(job, verdict)
    if not missing and not artifacts:
        return "claimed" if verdict.claimed_only else None
    if evidence.JobRecord(tx, job).waiver is None:
        raise rules.proof_missing(job, verdict, missing, artifacts)
    return "waived"


@operation(
    "jobs.waive",
    reach=Reach.MANAGE,
    writes=True,
    examples=({"room_id": "ROOM", "job": "JOB-001", "reason": "I looked at it myself."},),
)
def waive(tx: Tx, me: Caller, ask: WaiveProof) -> JobChanged:
    """Let a job be DONE without proof, and say why: it stays on its record and stands in every merge report.

    Only for who manages it: who created it, a foreman, or a person. Whoever runs a job cannot waive its own proof. It
    holds until the job is queued again.
    """
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_messageable(job)
    foreman = agents.trusted_foreman(tx, ask.room_id, me.agent_id)
    rules.check_waives(job, me, queries.runner_of(tx, job), foreman=foreman)
    body = JobWaived(job_id=job.job_id, event="waived", message=ask.reason)
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    job, claim = queries.job(tx, ask.room_id, ask.job), queries.claim(tx, job)
    return JobChanged(job=JobView.of(job, claim.expires_at if claim else None), event=JobEvent.of(event))
