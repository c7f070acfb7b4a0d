"""What a runner does with a job: `jobs.claim`, `report` and `complete`, which takes DONE only with proof."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from msgspec import UNSET

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries, queue, rules
from tallystick.capabilities.jobs.contract import LEASE_MS, ClaimJob, CompleteJob, ReportJob
from tallystick.capabilities.jobs.errors import ClaimRefused
from tallystick.capabilities.jobs.events import (
    JobClaimed,
    JobCompleted,
    JobEvidence,
    JobQuestioned,
    JobReported,
    JobRouted,
    JobStatus,
    SelectedRunner,
    job_body,
)
from tallystick.capabilities.jobs.model import AUTO, Job, Runner, number_of
from tallystick.capabilities.jobs.queries import SQL
from tallystick.capabilities.jobs.views import ClaimJobResult, JobChanged, JobEvent, JobView, Reported
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.tasks import queries as tasks
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import moment, operation
from tallystick.ledger.tx import Tx
from tallystick.proof import files
from tallystick.proof.refs import Ref, RefKind, parse, salvage
from tallystick.proof.verdict import Evidence, FileFact, Own, ProofVerdict, judge


@operation(
    "jobs.claim",
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
    # Looked up once, and only for a job that is meant for somebody else.
    online = cache(partial(queries.runners_online, tx, ask.room_id))
    if ask.job is not None:
        job = queries.job(tx, ask.room_id, ask.job)
        anew = _check(tx, job, runner, online, allow_stale=ask.allow_stale)
        return _take(tx, me, ask, job, runner=runner, anew=anew)
    for job in _candidates(tx, ask):
        try:
            anew = _check(tx, job, runner, online, allow_stale=ask.allow_stale)
        except ClaimRefused:
            continue
        return _take(tx, me, ask, job, runner=runner, anew=anew)
    return ClaimJobResult(
        job=None,
        event=None,
        claim_revision=None,
        claim_expires_at=None,
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


def _check(
    tx: Tx, job: Job, runner: Runner, online: Callable[[], Sequence[Runner]], *, allow_stale: bool
) -> SelectedRunner | None:
    """Refuse unless this runner may have this job now; gives the routing where it had to be redone."""
    present = queries.claim(tx, job) if job.status is JobStatus.RUNNING else None
    after = queries.comes_after(tx, job) if job.blocked else ()
    rules.check_claimable(job, present, after, allow_stale=allow_stale, now=tx.now)
    rules.check_suits(job, runner)
    # A claim that ran out is anybody's who can do the work: its routing has had its chance.
    if job.status is not JobStatus.QUEUED or job.routed_runner in {None, runner.runner_id}:
        return None
    return rules.check_routed(job, runner, online())


def _take(
    tx: Tx, me: Caller, ask: ClaimJob, job: Job, *, runner: Runner, anew: SelectedRunner | None
) -> ClaimJobResult:
    queries.remember(tx, job)
    by, until = agent_rules.principal(me.agent_id), tx.now + rules.lease(ask.lease_ttl_ms, LEASE_MS)
    drafts = [Draft.of(_rerouted(job, anew))] if anew else []
    drafts.append(Draft.of(_claimed(job, runner.runner_id, until)))
    event = tx.append(ask.room_id, by, drafts)[-1]
    now = queries.job(tx, ask.room_id, job.job_id)
    return ClaimJobResult(
        job=JobView.of(now, until),
        event=JobEvent.of(event),
        claim_revision=now.revision,
        claim_expires_at=moment(until),
        executor=_executor(now, runner),
        prompt=queue.prompt(tx, job),
        meta=now.meta_data,
        artifacts=[each.artifact_key for each in queries.artifacts(tx, job)] if job.revision else [],
    )


def _executor(job: Job, runner: Runner) -> str:
    if job.executor != AUTO:
        return job.executor
    if job.routed_executor and job.routed_runner == runner.runner_id and job.routed_executor in runner.executors:
        return job.routed_executor
    chosen = rules.route(job.needs, [runner])
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


def _rerouted(job: Job, anew: SelectedRunner) -> JobRouted:
    return JobRouted(
        job_id=job.job_id,
        event="routed",
        message=f"routed to {anew.selected_runner_id}: {job.routed_runner} is gone or cannot do it",
        routing=anew,
        meta={"routing": rules.routing_meta(job.needs, anew)},
    )


_HOLDER = {"room_id": "ROOM", "job": "JOB-001", "runner_id": "r1", "claim_revision": 1}


@operation(
    "jobs.report",
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
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_holder(job, ask.runner_id, ask.claim_revision)
    until = tx.now + rules.lease(ask.lease_ttl_ms, LEASE_MS)
    if ask.kind == "heartbeat":
        _beat(tx, job, ask, until)
        return Reported(
            job=JobView.of(job, until), event=None, claim_expires_at=moment(until), manager_seq=job.manager_seq
        )
    rules.merged(job.meta_data, ask.meta)
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
        proof=proves(tx, job, ask.refs),
    )
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    tx.run(SQL["renew"], room_id=job.room_id, number=job.number, expires_at=until)
    job = queries.job(tx, ask.room_id, ask.job)
    return Reported(
        job=JobView.of(job, until),
        event=JobEvent.of(event),
        claim_expires_at=moment(until),
        manager_seq=job.manager_seq,
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


LOOK_BACK = 200
"""How many of a job's events are searched for the first mention of a receipt."""


def roots(tx: Tx, room_id: str) -> list[Path]:
    """The room's folders on this machine."""
    return [Path(scope.root) for scope in rooms.scopes(tx, room_id) if scope.machine_id == tx.world.machine_id]


def _folders(tx: Tx, me: Caller, ask: CompleteJob) -> list[Path]:
    return roots(tx, ask.room_id)


def _read_files(ask: CompleteJob, folders: Callable[[], Sequence[Path]]) -> Mapping[str, FileFact]:
    """Read the files that refs name."""
    refs = salvage(ask.refs, ask.summary or "") if ask.status == "DONE" else []
    named = [text for text in refs if parse(text).kind is RefKind.FILE]
    return files.survey(named, folders()) if named else {}


@operation(
    "jobs.complete",
    writes=True,
    read_before=_folders,
    io_before=_read_files,
    examples=(
        {
            "room_id": "ROOM",
            "job": "JOB-001",
            "runner_id": "r1",
            "claim_revision": 1,
            "status": "DONE",
            "summary": "Parser rewritten; all tests pass.",
            "refs": ["CARD-001", "CMD: pytest -q (exit 0)"],
        },
    ),
)
def complete(tx: Tx, me: Caller, ask: CompleteJob, seen: Mapping[str, FileFact]) -> JobChanged:
    """End a job that you hold: DONE, FAILED or CANCELED, with a summary and refs to what holds the result.

    DONE needs proof: a card, note, task, artifact or file that exists, or a receipt of a command or link. Refs in the
    summary are found by themselves. Without proof it is refused; continue the job and complete it again.
    """
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_holder(job, ask.runner_id, ask.claim_revision)
    rules.merged(job.meta_data, ask.meta)
    refs = salvage(ask.refs, ask.summary or "") if ask.status == "DONE" else ask.refs
    verdict = judged(tx, job, refs, seen)
    if ask.status == "DONE":
        rules.check_proof(job, verdict)
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
        evidence=[_recorded(each) for each in verdict.evidence],
    )
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    return JobChanged(job=JobView.of(queries.job(tx, ask.room_id, ask.job)), event=JobEvent.of(event))


def _recorded(found: Evidence) -> JobEvidence:
    return JobEvidence(
        ref=found.ref,
        kind=found.kind.value,
        state=found.state.value,
        sha256=found.sha256,
        exit_code=found.exit_code,
    )


def judged(tx: Tx, job: Job, refs: Sequence[str], seen: Mapping[str, FileFact]) -> ProofVerdict:
    """The validator's verdict on a job's refs, with what this room knows."""
    own = Own(job_id=job.job_id, task_id=job.task_id)
    said_at = _said_at(tx, job, refs) if seen else {}
    return judge(refs, own, exists=lambda ref: exists(tx, job.room_id, ref), files=seen, said_at=said_at)


def proves(tx: Tx, job: Job, refs: Sequence[str]) -> bool:
    """Whether refs of a report or message are proof. A file counts here when its hash is named: nothing is read."""
    return bool(refs) and judged(tx, job, refs, {}).proven


def exists(tx: Tx, room_id: str, ref: Ref) -> bool:
    match ref.kind:
        case RefKind.JOB | RefKind.JOB_EVENT:
            return _job_exists(tx, room_id, ref)
        case RefKind.ARTIFACT:
            owner, _, key = ref.value.partition("/")
            job = _find(tx, room_id, owner)
            return job is not None and queries.artifact(tx, job, key) is not None
        case _:
            return tasks.exists(tx, room_id, ref)


def _find(tx: Tx, room_id: str, job_id: str) -> Job | None:
    number = number_of(job_id)
    return queries.job_at(tx, room_id, number) if number is not None else None


def _job_exists(tx: Tx, room_id: str, ref: Ref) -> bool:
    job = _find(tx, room_id, ref.value)
    if job is None or ref.seq is None:
        return job is not None
    found = queries.events_after(tx, job, ref.seq - 1, 1)
    return bool(found) and found[0].seq == ref.seq


def _said_at(tx: Tx, job: Job, refs: Sequence[str]) -> dict[str, Instant]:
    """When each receipt was first reported, where that was before now."""
    wanted, said = {text.strip() for text in refs}, dict[str, Instant]()
    for event in queries.events_before(tx, job, None, LOOK_BACK):
        refs_then = job_body(event).refs
        for ref in wanted.intersection(() if refs_then is UNSET else refs_then):
            said[ref] = event.ts
    return said
