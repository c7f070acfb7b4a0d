"""`x.tally.job.*` events, folded into the rows of jobs, their logs, edges, artifacts and the load of runners.

A job's own row is a pure fold, which `jobs.replay` uses too: one event in, the next row out.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from tallystick.capabilities.jobs import queries, queue
from tallystick.capabilities.jobs.events import (
    JOB_CHANGES,
    JobArtifactPut,
    JobBody,
    JobCanceled,
    JobClaimed,
    JobCompleted,
    JobCreated,
    JobMessaged,
    JobQuestioned,
    JobReported,
    JobRequeued,
    JobRouted,
    JobStatus,
)
from tallystick.capabilities.jobs.model import Job, Priority, texts
from tallystick.capabilities.jobs.queries import SQL
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx

SILENT = frozenset({"slice", "routed"})
"""Events about the running itself: they neither answer anything nor count as progress."""
UNSHOWN = SILENT | {"artifact"}
"""Those, and what is better opened by itself than shown as the newest word."""
_NEWEST = {"question": "question_seq", "error": "error_seq", "checkpoint": "checkpoint_seq", "proof_gate": "gate_seq"}


def row_created(event: Event, body: JobCreated, *, blocked: int) -> Job:
    return Job(
        room_id=event.room_id,
        number=body.number,
        job_id=body.job_id,
        revision=0,
        status=JobStatus.QUEUED,
        priority=Priority[body.priority.value],
        blocked=blocked,
        followers=0,
        title=body.title,
        kind=body.job_kind,
        task_id=body.task,
        anchor_id=body.anchor,
        executor=body.executor,
        profile=body.executor_profile,
        routed_executor=body.routing.selected_executor if body.routing else None,
        routed_runner=body.routing.selected_runner_id if body.routing else None,
        runner_id=None,
        created_by=event.by,
        created_seq=event.seq,
        created_at=event.ts,
        updated_at=event.ts,
        completed_at=None,
        completed_seq=None,
        last_seq=event.seq,
        said_seq=event.seq,
        said_at=event.ts,
        question_seq=0,
        manager_seq=0,
        error_seq=0,
        checkpoint_seq=0,
        gate_seq=0,
        proof_seq=0,
        meta=to_json(body.meta),
        refs="[]",
        summary=None,
    )


def row_after(job: Job, event: Event, body: JobBody) -> Job:
    """The row once this event has happened."""
    job = replace(job, last_seq=event.seq, updated_at=event.ts)
    if body.event not in SILENT:
        job = replace(job, said_at=event.ts)
    if body.event not in UNSHOWN:
        job = replace(job, said_seq=event.seq)
    if body.meta is not UNSET and body.meta and not isinstance(body, JobClaimed):
        job = replace(job, meta=to_json({**job.meta_data, **body.meta}))
    match body:
        case JobClaimed():
            return replace(job, status=JobStatus.RUNNING, runner_id=body.runner_id, revision=body.claim_revision)
        case JobReported() | JobQuestioned():
            return _reported(job, event, body)
        case JobMessaged():
            return replace(job, manager_seq=event.seq, proof_seq=event.seq if body.proof else job.proof_seq)
        case JobRouted(routing=routing):
            return replace(job, routed_executor=routing.selected_executor, routed_runner=routing.selected_runner_id)
        case JobCompleted() | JobCanceled():
            return _ended(job, event, body)
        case JobRequeued():
            return _requeued(job, body)
        case _:
            return job


def _reported(job: Job, event: Event, body: JobReported | JobQuestioned) -> Job:
    if column := _NEWEST.get(body.event):
        job = replace(job, **{column: event.seq})
    if body.event == "checkpoint" and body.proof:
        job = replace(job, proof_seq=event.seq)
    return job


def _ended(job: Job, event: Event, body: JobCompleted | JobCanceled) -> Job:
    return replace(
        job,
        status=body.status,
        revision=body.revision,
        summary=body.summary,
        refs=texts([] if body.refs is UNSET else body.refs),
        completed_at=event.ts,
        completed_seq=event.seq,
    )


def _requeued(job: Job, body: JobRequeued) -> Job:
    """As if new, its history kept: what was asked or found wanting before the end no longer waits for anybody."""
    return replace(
        job,
        status=JobStatus.QUEUED,
        revision=body.revision,
        runner_id=None,
        routed_executor=None,
        routed_runner=None,
        summary=None,
        refs="[]",
        completed_at=None,
        completed_seq=None,
        manager_seq=max(job.manager_seq, job.question_seq),
        checkpoint_seq=max(job.checkpoint_seq, job.error_seq),
        proof_seq=max(job.proof_seq, job.gate_seq),
    )


@fold(JobCreated)
def created(tx: Tx, event: Event, body: JobCreated) -> None:
    room_id, blocked = event.room_id, 0
    for job_id in body.after:
        earlier = queries.job(tx, room_id, job_id)
        tx.run(SQL["add_edge"], room_id=room_id, number=body.number, after_number=earlier.number)
        tx.run(SQL["follow"], room_id=room_id, number=earlier.number)
        queries.remember(tx, replace(earlier, followers=earlier.followers + 1))
        blocked += earlier.status is not JobStatus.DONE
    job = row_created(event, body, blocked=blocked)
    queries.put(tx, job, new=True)
    queue.joined(tx, job, event)
    _load(tx, room_id, job.assigned, 1)


@fold(*JOB_CHANGES)
def changed(tx: Tx, event: Event, body: JobBody) -> None:
    _change(tx, event, body)


@fold(JobArtifactPut)
def artifact_put(tx: Tx, event: Event, body: JobArtifactPut) -> None:
    job = _change(tx, event, body)
    tx.run(
        SQL["put_artifact"],
        room_id=event.room_id,
        number=job.number,
        artifact_key=body.artifact_key,
        seq=event.seq,
        size=len(body.content),
        sha256=body.sha256,
    )


def _change(tx: Tx, event: Event, body: JobBody) -> Job:
    """Write the job's row as it is after this event, and what else follows from the change; gives the row before."""
    job = queries.job(tx, event.room_id, body.job_id)
    now = row_after(job, event, body)
    queries.put(tx, now)
    queue.moved(tx, job, now)
    if job.task_id:
        tx.mention(event, job.task_id)
    match body:
        case JobClaimed():
            _claimed(tx, job, body)
        case JobCompleted() | JobCanceled() if job.status is JobStatus.RUNNING and job.runner_id:
            keys = {"room_id": job.room_id, "number": job.number, "runner_id": job.runner_id}
            tx.run(SQL["end_claim"], **keys, revision=job.revision, change=-1)
            queries.loaded(tx, job.room_id, job.runner_id, -1)
        case _ if job.assigned != now.assigned:
            _load(tx, job.room_id, job.assigned, -1)
            _load(tx, job.room_id, now.assigned, 1)
        case _:
            pass
    if job.followers and (job.status is JobStatus.DONE) != (now.status is JobStatus.DONE):
        tx.run(SQL["unblock"], room_id=job.room_id, number=job.number)
        queries.forget(tx, now)
        queue.forget(tx, now.room_id)
    return job


def _claimed(tx: Tx, job: Job, body: JobClaimed) -> None:
    """A claim's lease begins with its event and ends with the claim; in between it is live state."""
    moves = job.assigned != body.runner_id
    tx.run(
        SQL["put_claim"],
        room_id=job.room_id,
        number=job.number,
        runner_id=body.runner_id,
        revision=body.claim_revision,
        expires_at=body.expires_at,
        change=int(moves),
    )
    queries.loaded(tx, job.room_id, body.runner_id, int(moves))
    if moves:
        _load(tx, job.room_id, job.assigned, -1)


def _load(tx: Tx, room_id: str, runner_id: str | None, change: int) -> None:
    """Keep count of the work that each runner has or is in line for."""
    if runner_id:
        tx.run(SQL["load"], room_id=room_id, runner_id=runner_id, change=change)
        queries.loaded(tx, room_id, runner_id, change)


FOLDS = (created, changed, artifact_put)
TABLES = ("job_artifacts", "job_edges", "job_events", "runner_loads", "jobs")
