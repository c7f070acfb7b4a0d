"""A job's row as a pure fold: one event in, the next row out. Attention and order follow from the row alone."""

from __future__ import annotations

from typing import cast

import msgspec
from msgspec.structs import replace

from tallystick.capabilities.jobs.model import Job, Kind, Priority, Status, texts
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event, to_json

SILENT = frozenset({"slice", "routed"})
"""Events about the running itself: they neither answer anything nor count as progress."""
UNSHOWN = SILENT | {"artifact"}
"""Those, and what is better opened by itself than shown as the newest word."""

_NEWEST = {"question": "question_seq", "error": "error_seq", "checkpoint": "checkpoint_seq", "proof_gate": "gate_seq"}


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    has_error: bool
    needs_manager: bool
    needs_proof: bool

    @property
    def rank(self) -> int:
        """0 is most urgent, 3 is none."""
        return 0 if self.has_error else 1 if self.needs_manager else 2 if self.needs_proof else 3


def attention(job: Job) -> Attention:
    running = job.status is Status.RUNNING
    return Attention(
        has_error=running and job.error_seq > job.checkpoint_seq,
        needs_manager=job.status.active and job.question_seq > job.manager_seq,
        needs_proof=running and job.gate_seq > job.proof_seq,
    )


def place(job: Job) -> int:
    """Where a job stands in the radar: by attention, then running before queued."""
    return attention(job).rank * 2 + (job.status is not Status.RUNNING)


def shown_seq(job: Job) -> int:
    """The event to open first: what waits for somebody, or what was said last."""
    now = attention(job)
    if now.needs_manager:
        return job.question_seq
    if now.needs_proof:
        return job.gate_seq
    return job.error_seq if now.has_error else job.said_seq


def stale(job: Job, expires_at: Instant | None, *, now: Instant) -> bool:
    return job.status is Status.RUNNING and (expires_at is None or expires_at <= now)


def stalled(job: Job, expires_at: Instant | None, *, now: Instant, after_ms: int) -> bool:
    """Its runner renews, and nothing comes of it."""
    return job.status is Status.RUNNING and not stale(job, expires_at, now=now) and job.said_at + after_ms <= now


def created(event: Event, *, blocked: int) -> Job:
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


def after(job: Job, event: Event) -> Job:
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
