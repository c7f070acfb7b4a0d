"""Jobs as lines of text: every line begins with something to open and names one next move."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.capabilities.jobs.contract import ShowRadar
from tallystick.capabilities.jobs.views import Issue, JobEvent, JobTail, Radar, RadarJob, RunnerView

PREVIEW = 120
RUNNERS = 15
LOST = 10
ISSUES = 5
_SIGNS = {"error": "!", "warn": "!", "stale": "~"}


def one_line(text: str, limit: int = PREVIEW) -> str:
    """Text that somebody else wrote, on one line; it can neither move the cursor nor add a move of its own."""
    plain = " ".join("".join(each if each.isprintable() else " " for each in text).replace("|", "¦").split())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def tail(room_id: str, found: JobTail) -> str:
    head = (
        f"{room_id} job {found.job_id} tail after_seq={found.after_seq} next_after_seq={found.next_after_seq} "
        f"count={found.count} has_more={str(found.has_more).lower()}"
    )
    rows = [head, "events:", *(f"- {event_line(event)}" for event in found.events)]
    if found.heartbeat:
        rows.append(f"- {found.job_id} heartbeat: {one_line(found.heartbeat.message)}")
    if found.has_more:
        rows.append(f"MORE: after_seq={found.next_after_seq}")
    return "\n".join(rows)


def event_line(event: JobEvent) -> str:
    return f"{event.ref} {one_line(event.kind)}: {one_line(event.message)}"


def radar(ask: ShowRadar, found: Radar) -> str:
    rows = [_head(ask, found)]
    if found.runner_bootstrap:
        rows.append(f"CMD: {found.runner_bootstrap.cmd}")
    rows += [_runner(each) for each in found.runner_leases[:RUNNERS]]
    rows += [_lost(each) for each in found.runner_leases_offline[:LOST]]
    rows += [_issue(each) for each in found.runner_diagnostics[:ISSUES]]
    rows += [job_line(each) for each in found.jobs]
    if found.has_more:
        rows.append("MORE: Increase limit or filter by status/task/anchor.")
    if found.truncated:
        rows.append("BUDGET_TRUNCATED: Raise max_chars to see the rest.")
    return "\n".join(rows)


def _head(ask: ShowRadar, found: Radar) -> str:
    status = found.runner_status
    counts = f"live:{status.live_count} idle:{status.idle_count} offline:{status.offline_count}"
    nobody = not (status.live_count or status.idle_count or status.offline_count)
    given = {"status": ask.status, "task": ask.task, "anchor": ask.anchor}
    filters = "".join(f" {name}={one_line(value)}" for name, value in given.items() if value)
    more = " has_more=true" if found.has_more else ""
    return (
        f"{ask.room_id} jobs_radar count={found.count} runner={status.status} "
        f"runners={'none' if nobody else counts}{filters}{more}"
    )


def _runner(runner: RunnerView) -> str:
    job = f" job={runner.active_job_id} | open id={runner.active_job_id}" if runner.active_job_id else ""
    return f"runner {runner.state} {runner.runner_id} | open id=runner:{runner.runner_id}{job}"


def _lost(runner: RunnerView) -> str:
    last = f" last_job={runner.active_job_id}" if runner.active_job_id else ""
    job = f" | open id={runner.active_job_id}" if runner.active_job_id else ""
    return f"runner offline {runner.runner_id} last={runner.status}{last} | open id=runner:{runner.runner_id}{job}"


def _issue(issue: Issue) -> str:
    return "".join(_issue_parts(issue))


def _issue_parts(issue: Issue) -> Iterator[str]:
    yield f"{_SIGNS[issue.severity]} diag {issue.kind}"
    if issue.runner_id:
        yield f" runner={issue.runner_id}"
    if issue.job_id:
        yield f" job={issue.job_id}"
    if issue.runner_id:
        yield f" | open id=runner:{issue.runner_id}"
    if issue.job_id:
        yield f" | open id={issue.job_id}"
    yield f" | {issue.message}"


def job_line(row: RadarJob) -> str:
    job, marker = row.job, f"{row.marker} " if row.marker else ""
    reply = f' | reply reply_job={job.job_id} reply_message="..."' if row.marker == "?" else ""
    return (
        f"{row.last.ref} {marker}{job.job_id} ({job.status}) {one_line(job.title)} | open id={row.last.ref}{reply}"
        f" | {one_line(row.last.kind)}: {one_line(row.last.message)}"
    )
