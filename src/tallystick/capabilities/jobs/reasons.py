"""In words, why a job does not move. Pure: what was read of a room in, a short sentence out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tallystick.capabilities.jobs import rules
from tallystick.capabilities.jobs.events import JobStatus
from tallystick.capabilities.jobs.model import ExecutorOrder, Job, Runner
from tallystick.kernel.clock import Instant, to_wire

NAMED = 3
"""How many jobs or runners a sentence names."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One job, and what was read about it."""

    job: Job
    expires_at: Instant | None
    """Of its claim, or of its waiting for an answer."""
    after: Sequence[tuple[str, str]] = ()
    """The jobs that it comes after, with their status."""


def why(seen: Standing, online: Sequence[Runner], order: ExecutorOrder, *, now: Instant, stall_ms: int) -> str:
    """Empty when it moves, or has ended."""
    match seen.job.status:
        case JobStatus.QUEUED:
            return _queued(seen, online, order, now=now)
        case JobStatus.RUNNING:
            return _running(seen, now=now, stall_ms=stall_ms)
        case _:
            return ""


def _running(seen: Standing, *, now: Instant, stall_ms: int) -> str:
    job = seen.job
    if job.stale(seen.expires_at, now=now):
        return f"the claim of {job.runner_id} ran out; the next runner with a slot free takes it over"
    if job.attention.needs_manager:
        return "question open"
    if job.stalled(seen.expires_at, now=now, after_ms=stall_ms):
        return f"stalled: nothing new for {(now - job.said_at) // 60_000} min"
    return ""


def _queued(seen: Standing, online: Sequence[Runner], order: ExecutorOrder, *, now: Instant) -> str:
    job = seen.job
    if job.blocked:
        return _blocked(seen.after)
    if job.attention.needs_manager and seen.expires_at is not None and seen.expires_at > now:
        return f"question open; goes on without an answer at {to_wire(seen.expires_at)}"
    if not online:
        return "no runner is there"
    able = [runner for runner in online if not rules.lacking(job.needs, runner, order)]
    if not able:
        more = f" (and {len(online) - 1} more)" if len(online) > 1 else ""
        return f"no suited runner: {online[0].runner_id}{more}: {rules.lacking(job.needs, online[0], order)}"
    if all(runner.jobs >= runner.max_parallel for runner in able):
        return f"every suited runner is busy: {_named([runner.runner_id for runner in able])}"
    return "can be claimed"


def _blocked(after: Sequence[tuple[str, str]]) -> str:
    open_ = [(job_id, status) for job_id, status in after if status != JobStatus.DONE]
    if lost := [job_id for job_id, status in open_ if not JobStatus(status).active]:
        return f"waits for {_named(lost)}, which did not succeed"
    return f"waits for {_named([job_id for job_id, _ in open_])}"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
