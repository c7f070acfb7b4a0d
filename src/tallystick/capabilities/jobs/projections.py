"""`x.tally.job.*` events, folded into the rows of jobs, their logs, edges, artifacts and the load of runners.

A job's own row is a pure fold, which `jobs.replay` uses too: one event in, the next row out.
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from tallystick.capabilities.jobs import queries, queue
from tallystick.capabilities.jobs.model import Job, Kind, Priority, Status, number_of, texts
from tallystick.capabilities.jobs.queries import SQL
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger.tx import Projection, Tx

SILENT = frozenset({"slice", "routed"})
"""Events about the running itself: they neither answer anything nor count as progress."""
UNSHOWN = SILENT | {"artifact"}
"""Those, and what is better opened by itself than shown as the newest word."""
_NEWEST = {"question": "question_seq", "error": "error_seq", "checkpoint": "checkpoint_seq", "proof_gate": "gate_seq"}


def row_created(event: Event, *, blocked: int) -> Job:
    data = event.data
    routing = cast("dict[str, str] | None", data.get("routing")) or {}
    return Job(
        room_id=event.room_id,
        number=cast("int", data["number"]),
        job_id=cast("str", data["job_id"]),
        revision=0,
        status=Status.QUEUED,
        priority=Priority[cast("str", data["priority"])],
        blocked=blocked,
        followers=0,
        title=cast("str", data["title"]),
        kind=cast("str", data["kind"]),
        task_id=cast("str | None", data["task"]),
        anchor_id=cast("str | None", data["anchor"]),
        executor=cast("str", data["executor"]),
        profile=cast("str", data["executor_profile"]),
        routed_executor=routing.get("selected_executor"),
        routed_runner=routing.get("selected_runner_id"),
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
        meta=to_json(cast("dict[str, object]", data["meta"])),
        refs="[]",
        summary=None,
    )


def row_after(job: Job, event: Event) -> Job:
    """The row once this event has happened."""
    data, said = event.data, cast("str", event.data["event"])
    job = replace(job, last_seq=event.seq, updated_at=event.ts)
    if said not in SILENT:
        job = replace(job, said_at=event.ts)
    if said not in UNSHOWN:
        job = replace(job, said_seq=event.seq)
    if meta := cast("dict[str, object] | None", data.get("meta")):
        job = replace(job, meta=to_json({**job.meta_data, **meta})) if event.kind != Kind.CLAIM else job
    match event.kind:
        case Kind.CLAIM:
            return replace(
                job,
                status=Status.RUNNING,
                runner_id=cast("str", data["runner_id"]),
                revision=cast("int", data["claim_revision"]),
            )
        case Kind.REPORT | Kind.QUESTION:
            return _reported(job, event, said)
        case Kind.MESSAGE:
            proof_seq = event.seq if data.get("proof") else job.proof_seq
            return replace(job, manager_seq=event.seq, proof_seq=proof_seq)
        case Kind.ROUTE:
            routing = cast("dict[str, str]", data["routing"])
            return replace(
                job, routed_executor=routing["selected_executor"], routed_runner=routing["selected_runner_id"]
            )
        case Kind.COMPLETE | Kind.CANCEL:
            return _ended(job, event)
        case Kind.REQUEUE:
            return _requeued(job, event)
        case _:
            return job


def _reported(job: Job, event: Event, said: str) -> Job:
    if column := _NEWEST.get(said):
        job = replace(job, **{column: event.seq})
    if said == "checkpoint" and event.data.get("proof"):
        job = replace(job, proof_seq=event.seq)
    return job


def _ended(job: Job, event: Event) -> Job:
    data = event.data
    return replace(
        job,
        status=Status(cast("str", data["status"])),
        revision=cast("int", data["revision"]),
        summary=cast("str | None", data.get("summary")),
        refs=texts(cast("list[str]", data.get("refs") or [])),
        completed_at=event.ts,
        completed_seq=event.seq,
    )


def _requeued(job: Job, event: Event) -> Job:
    """As if new, its history kept: what was asked or found wanting before the end no longer waits for anybody."""
    return replace(
        job,
        status=Status.QUEUED,
        revision=cast("int", event.data["revision"]),
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


def created(tx: Tx, event: Event) -> None:
    room_id, number = event.room_id, cast("int", event.data["number"])
    blocked = 0
    for job_id in cast("list[str]", event.data["after"]):
        earlier = queries.job(tx, room_id, job_id)
        tx.run(SQL["add_edge"], room_id=room_id, number=number, after_number=earlier.number)
        tx.run(SQL["follow"], room_id=room_id, number=earlier.number)
        queries.remember(tx, replace(earlier, followers=earlier.followers + 1))
        blocked += earlier.status is not Status.DONE
    job = row_created(event, blocked=blocked)
    queries.put(tx, job, new=True)
    queue.joined(tx, job, event)
    _load(tx, room_id, job.assigned, 1)


def changed(tx: Tx, event: Event) -> None:
    job = queries.job(tx, event.room_id, cast("str", event.data["job_id"]))
    now = row_after(job, event)
    queries.put(tx, now)
    queue.moved(tx, job, now)
    if job.task_id:
        tx.mention(event, job.task_id)
    match event.kind:
        case Kind.CLAIM:
            _claimed(tx, job, event)
        case Kind.COMPLETE | Kind.CANCEL if job.status is Status.RUNNING:
            keys = {"room_id": job.room_id, "number": job.number, "runner_id": job.runner_id}
            tx.run(SQL["end_claim"], **keys, revision=job.revision, change=-1)
            queries.loaded(tx, job.room_id, cast("str", job.runner_id), -1)
        case _ if job.assigned != now.assigned:
            _load(tx, job.room_id, job.assigned, -1)
            _load(tx, job.room_id, now.assigned, 1)
        case _:
            pass
    if job.followers and (job.status is Status.DONE) != (now.status is Status.DONE):
        tx.run(SQL["unblock"], room_id=job.room_id, number=job.number)
        queries.forget(tx, now)
        queue.forget(tx, now.room_id)


def _claimed(tx: Tx, job: Job, event: Event) -> None:
    """A claim's lease begins with its event and ends with the claim; in between it is live state."""
    runner_id, moves = cast("str", event.data["runner_id"]), job.assigned != event.data["runner_id"]
    tx.run(
        SQL["put_claim"],
        room_id=job.room_id,
        number=job.number,
        runner_id=runner_id,
        revision=cast("int", event.data["claim_revision"]),
        expires_at=cast("int", event.data["expires_at"]),
        change=int(moves),
    )
    queries.loaded(tx, job.room_id, runner_id, int(moves))
    if moves:
        _load(tx, job.room_id, job.assigned, -1)


def _load(tx: Tx, room_id: str, runner_id: str | None, change: int) -> None:
    """Keep count of the work that each runner has or is in line for."""
    if runner_id:
        tx.run(SQL["load"], room_id=room_id, runner_id=runner_id, change=change)
        queries.loaded(tx, room_id, runner_id, change)


def kept(tx: Tx, event: Event) -> None:
    changed(tx, event)
    tx.run(
        SQL["put_artifact"],
        room_id=event.room_id,
        number=number_of(cast("str", event.data["job_id"])),
        artifact_key=cast("str", event.data["artifact_key"]),
        seq=event.seq,
        size=len(cast("str", event.data["content"])),
        sha256=cast("str", event.data["sha256"]),
    )


PROJECTIONS: dict[str, Projection] = {
    **dict.fromkeys(Kind, changed),
    Kind.CREATE: created,
    Kind.ARTIFACT: kept,
}
TABLES = ("job_artifacts", "job_edges", "job_events", "runner_loads", "jobs")
