"""`x.tally.job.*` events, folded into the rows of jobs, their logs, edges, artifacts and the load of runners.

A job's own row is a pure fold, which `jobs.replay` uses too: one event in, the next row out.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from tallystick.capabilities.jobs import queries, queue
from tallystick.capabilities.jobs.events import (
    JOB_CHANGES,
    ExecutorsOrdered,
    JobAcknowledged,
    JobArtifactPut,
    JobBody,
    JobCanceled,
    JobClaimed,
    JobCompleted,
    JobCreated,
    JobMessaged,
    JobQuestioned,
    JobReleased,
    JobReported,
    JobRequeued,
    JobStatus,
    JobWaived,
)
from tallystick.capabilities.jobs.model import Job, Priority, texts
from tallystick.capabilities.jobs.queries import SQL
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx

SILENT = frozenset({"slice", "routed", "released", "delivered", "read"})
"""Events about the running itself: they neither answer anything nor count as progress."""
UNSHOWN = SILENT | {"artifact", "acknowledged"}
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
        delivered_seq=0,
        read_seq=0,
        slices=0,
        resume_seq=0,
        acknowledged_seq=0,
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
        case JobClaimed() | JobReleased():
            return _held(job, body)
        case JobReported() | JobQuestioned():
            return _reported(job, event, body)
        case JobMessaged() | JobWaived() | JobAcknowledged():
            return _managed(job, event, body)
        case JobCompleted() | JobCanceled():
            return _ended(job, event, body)
        case JobRequeued():
            return _requeued(job, body)
        case _:
            return job


def _held(job: Job, body: JobClaimed | JobReleased) -> Job:
    if isinstance(body, JobReleased):
        return replace(job, status=JobStatus.QUEUED, runner_id=None, revision=body.revision)
    return replace(job, status=JobStatus.RUNNING, runner_id=body.runner_id, revision=body.claim_revision)


def _reported(job: Job, event: Event, body: JobReported | JobQuestioned) -> Job:
    if column := _NEWEST.get(body.event):
        job = replace(job, **{column: event.seq})
    if body.event == "checkpoint" and body.proof:
        job = replace(job, proof_seq=event.seq)
    return _resumable(job, event, body) if isinstance(body, JobReported) else job


def _resumable(job: Job, event: Event, body: JobReported) -> Job:
    """With what a later slice has to know, where the report says it."""
    if body.slice is not UNSET:
        job = replace(job, slices=max(job.slices, body.slice))
    if body.resume is not UNSET:
        job = replace(job, resume_seq=event.seq)
    if body.delivered_seq is not UNSET:
        job = replace(job, delivered_seq=max(job.delivered_seq, body.delivered_seq))
    if body.read_seq is not UNSET:
        heard = max(job.read_seq, body.read_seq)
        job = replace(job, read_seq=heard, delivered_seq=max(job.delivered_seq, heard))
    return job


def _managed(job: Job, event: Event, body: JobMessaged | JobWaived | JobAcknowledged) -> Job:
    if isinstance(body, JobAcknowledged):
        return replace(job, acknowledged_seq=event.seq)
    if isinstance(body, JobWaived):
        return replace(job, proof_seq=event.seq)
    return replace(job, manager_seq=event.seq, proof_seq=event.seq if body.proof else job.proof_seq)


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
    """As if new, its history kept: what was asked or found wanting before the end no longer waits for anybody.

    What earlier slices learned and what the agent has not read yet stay for the next one.
    """
    return replace(
        job,
        status=JobStatus.QUEUED,
        revision=body.revision,
        runner_id=None,
        slices=0,
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
        case JobReleased():
            _released(tx, job, body)
        case JobMessaged() | JobCanceled() if job.status is JobStatus.QUEUED and job.attention.needs_manager:
            tx.run(SQL["drop_claim"], room_id=job.room_id, number=job.number, revision=job.revision)
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


def _released(tx: Tx, job: Job, body: JobReleased) -> None:
    _load(tx, job.room_id, job.assigned, -1)
    keys = {"room_id": job.room_id, "number": job.number, "revision": body.revision}
    if body.waits_until is UNSET:
        tx.run(SQL["drop_claim"], **keys)
    else:
        tx.run(SQL["await_answer"], **keys, expires_at=body.waits_until)


def _load(tx: Tx, room_id: str, runner_id: str | None, change: int) -> None:
    """Keep count of the work that each runner has."""
    if runner_id:
        tx.run(SQL["load"], room_id=room_id, runner_id=runner_id, change=change)
        queries.loaded(tx, room_id, runner_id, change)


@fold(ExecutorsOrdered)
def executors_ordered(tx: Tx, event: Event, body: ExecutorsOrdered) -> None:
    tx.run(SQL["put_executor_order"], room_id=event.room_id, profile=body.profile, executors=texts(body.executors))
    tx.folded(event.room_id).pop(queries.ORDER_KEY, None)


FOLDS = (created, changed, artifact_put, executors_ordered)
TABLES = ("executor_orders", "job_artifacts", "job_edges", "job_events", "runner_loads", "jobs")
