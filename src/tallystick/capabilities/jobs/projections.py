"""`x.tally.job.*` events, folded into the rows of jobs, their logs, edges, artifacts and the load of runners."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from tallystick.capabilities.jobs import fold, queries, queue
from tallystick.capabilities.jobs.model import Job, Kind, Status, number_of
from tallystick.capabilities.jobs.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger.tx import Projection, Tx


def created(tx: Tx, event: Event) -> None:
    room_id, number = event.room_id, cast("int", event.data["number"])
    blocked = 0
    for job_id in cast("list[str]", event.data["after"]):
        earlier = queries.job(tx, room_id, job_id)
        tx.run(SQL["add_edge"], room_id=room_id, number=number, after_number=earlier.number)
        tx.run(SQL["follow"], room_id=room_id, number=earlier.number)
        queries.remember(tx, replace(earlier, followers=earlier.followers + 1))
        blocked += earlier.status is not Status.DONE
    job = fold.created(event, blocked=blocked)
    queries.put(tx, job, new=True)
    queue.joined(tx, job, event)
    _load(tx, room_id, job.assigned, 1)


def changed(tx: Tx, event: Event) -> None:
    job = queries.job(tx, event.room_id, cast("str", event.data["job_id"]))
    now = fold.after(job, event)
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
