"""How a job ends: `jobs.complete`, which takes DONE only with evidence, and `jobs.waive`, a manager's word instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import evidence, queries, rules
from tallystick.capabilities.jobs.contract import CompleteJob, WaiveProof
from tallystick.capabilities.jobs.events import JobBranch, JobCompleted, JobStatus, JobWaived
from tallystick.capabilities.jobs.evidence_contract import BranchAsk
from tallystick.capabilities.jobs.model import Job
from tallystick.capabilities.jobs.views import JobChanged, JobEvent, JobView
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Reach, as_record, operation
from tallystick.ledger.tx import Tx
from tallystick.proof.files import FileFact, FilesToRead
from tallystick.proof.refs import salvage
from tallystick.proof.verdict import ProofVerdict


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
