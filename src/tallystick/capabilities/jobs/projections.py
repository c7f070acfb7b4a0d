"""`x.tally.job.*` events, folded into the rows of jobs, their logs, edges, artifacts and the load of runners."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.jobs import fold, queries
from tallystick.capabilities.jobs.model import Job, Kind, Status, number_of
from tallystick.capabilities.jobs.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger import subjects
from tallystick.ledger.tx import Projection, Tx


def created(tx: Tx, event: Event) -> None:
    room_id, number = event.room_id, cast("int", event.data["number"])
    blocked = 0
    for job_id in cast("list[str]", event.data["after"]):
        earlier = queries.job(tx, room_id, job_id)
        tx.run(SQL["add_edge"], room_id=room_id, number=number, after_number=earlier.number)
        blocked += earlier.status is not Status.DONE
    job = fold.created(event, blocked=blocked)
    queries.put(tx, job, new=True)
    tx.run(SQL["add_event"], room_id=room_id, number=number, seq=event.seq)
    _weigh(tx, None, job)


def changed(tx: Tx, event: Event) -> None:
    job = queries.job(tx, event.room_id, cast("str", event.data["job_id"]))
    now = fold.after(job, event)
    queries.put(tx, now)
    tx.run(SQL["add_event"], room_id=job.room_id, number=job.number, seq=event.seq)
    if job.task_id:
        subjects.mention(tx, event, job.task_id)
    _weigh(tx, job, now)
    _lease(tx, job, event)
    if (job.status is Status.DONE) != (now.status is Status.DONE):
        tx.run(SQL["recount"], room_id=job.room_id, number=job.number)
        tx.run(SQL["release"], room_id=job.room_id, number=job.number)
        queries.forget(tx, now)


def _weigh(tx: Tx, before: Job | None, now: Job) -> None:
    """Keep count of the work that each runner has or is in line for."""
    was, is_ = before.assigned if before else None, now.assigned
    if was == is_:
        return
    for runner_id, change in ((was, -1), (is_, 1)):
        if runner_id:
            tx.run(SQL["load"], room_id=now.room_id, runner_id=runner_id, change=change)


def _lease(tx: Tx, job: Job, event: Event) -> None:
    """A claim's lease begins with its event and ends with the claim; in between it is live state."""
    if event.kind == Kind.CLAIM:
        tx.run(
            SQL["put_claim"],
            room_id=job.room_id,
            number=job.number,
            runner_id=cast("str", event.data["runner_id"]),
            revision=cast("int", event.data["claim_revision"]),
            expires_at=cast("int", event.data["expires_at"]),
        )
    elif event.kind in {Kind.COMPLETE, Kind.CANCEL}:
        tx.run(SQL["end_claim"], room_id=job.room_id, number=job.number, revision=job.revision)


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
