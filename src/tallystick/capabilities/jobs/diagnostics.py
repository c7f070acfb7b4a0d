"""What does not fit together between runners and jobs: facts only, nothing guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from tallystick.capabilities.jobs.model import Job, Runner, Status
from tallystick.capabilities.jobs.radar_contract import Issue

MOST = 20


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at a room saw."""

    runners: Sequence[Runner]
    """Those that are there."""
    complete: bool
    """Whether these are all of them."""
    active: Mapping[str, Job | None]
    """The jobs that runners say they are at; None for one that does not exist."""
    running: Sequence[tuple[Job, bool]]
    """Running jobs, and whether their claim has run out."""
    failed_before: Mapping[str, Sequence[str]]
    """Queued jobs, and those before them that have ended without success."""


def issues(seen: Picture) -> list[Issue]:
    return [*_of_runners(seen), *_of_jobs(seen)][:MOST]


def _issue(
    kind: str,
    message: str,
    *,
    severity: Literal["error", "warn", "stale"] = "error",
    runner: str | None = None,
    job: str | None = None,
) -> Issue:
    return Issue(kind=kind, severity=severity, runner_id=runner, job_id=job, message=message)


def _of_runners(seen: Picture) -> Iterator[Issue]:
    shared = Counter(runner.active_job_id for runner in seen.runners if runner.active_job_id)
    for runner in seen.runners:
        name, job_id = runner.runner_id, runner.active_job_id
        if job_id is None:
            if runner.status == "live":
                yield _issue("live_missing_active_job", "runner is live and names no job", runner=name)
            continue
        if runner.status == "idle":
            yield _issue("idle_has_active_job", "runner is idle and names a job", runner=name, job=job_id)
        if shared[job_id] > 1:
            yield _issue("duplicate_active_job", "several runners say they are at this job", runner=name, job=job_id)
        yield from _of_active(name, job_id, seen.active.get(job_id))


def _of_active(name: str, job_id: str, job: Job | None) -> Iterator[Issue]:
    if job is None:
        yield _issue("active_job_unknown", "there is no such job", runner=name, job=job_id)
    elif job.status is not Status.RUNNING:
        yield _issue("active_job_not_running", f"job is {job.status.value}", runner=name, job=job_id)
    elif job.runner_id != name:
        yield _issue("job_runner_mismatch", f"job is held by {job.runner_id}", runner=name, job=job_id)


def _of_jobs(seen: Picture) -> Iterator[Issue]:
    there = {runner.runner_id for runner in seen.runners}
    for job, expired in seen.running:
        if expired:
            yield _issue(
                "job_claim_expired", "claim has run out", severity="stale", runner=job.runner_id, job=job.job_id
            )
        if seen.complete and job.runner_id not in there:
            yield _issue(
                "job_runner_offline",
                "job is RUNNING and its runner has no active lease",
                severity="warn",
                runner=job.runner_id,
                job=job.job_id,
            )
    for job_id, before in seen.failed_before.items():
        yield _issue("dependency_failed", f"comes after {', '.join(before)}, which did not succeed", job=job_id)
