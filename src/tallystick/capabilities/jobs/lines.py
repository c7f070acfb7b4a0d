"""Jobs as lines of text: each begins with something to open, says why a job stands still, and names one next move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tallystick.capabilities.jobs import rules
from tallystick.capabilities.jobs.contract import ListJobs, MessageJob, OpenJob, ShowRadar
from tallystick.capabilities.jobs.events import JobStatus
from tallystick.capabilities.jobs.model import ExecutorOrder, Job, Runner
from tallystick.capabilities.jobs.runners_contract import RunnerView
from tallystick.capabilities.jobs.views import (
    Issue,
    JobChanged,
    JobEvent,
    JobOpened,
    Jobs,
    JobTail,
    JobView,
    Radar,
    RadarJob,
    kind_and_message,
)
from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.hints import NextStep, step, tool_call

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


PREVIEW = 120
WHOLE = 1000
RUNNERS = 15
LOST = 10
ISSUES = 5
OPENED = 3
"""How many of a runner's jobs its line says how to open; all are named."""
_SIGNS = {"error": "!", "warn": "!", "stale": "~"}


def one_line(text: str, limit: int = PREVIEW) -> str:
    """Text that somebody else wrote, on one line; it can neither move the cursor nor add a move of its own."""
    plain = " ".join(
        "".join(each if each.isprintable() else " " for each in text).replace("|", "¦").replace("<<", "< <").split()
    )
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
    return f"{event.ref} {one_line(event.said)}"


class Moves:
    """How a line names what can be done next, so that it can be pasted where it is shown."""

    def __init__(self, ask: ShowRadar | OpenJob | ListJobs | MessageJob) -> None:
        self._style, self._room_id = ask.moves, ask.room_id

    def open(self, ref: str) -> str:
        return f" | open id={ref}" if self._style == "id" else self._step("open.ref", id=ref)

    def reply(self, job_id: str) -> str:
        if self._style == "id":
            return f' | reply reply_job={job_id} reply_message="..."'
        return self._step("jobs.message", job=job_id, message="...")

    def acknowledge(self, job_id: str) -> str:
        return f" | acknowledge job={job_id}" if self._style == "id" else self._step("jobs.acknowledge", job=job_id)

    def requeue(self, job_id: str) -> str:
        return f" | requeue job={job_id}" if self._style == "id" else self._step("jobs.requeue", job=job_id)

    def _step(self, operation: str, **given: object) -> str:
        if self._style == "step":
            return f" | {step(operation, **given)}"
        return f" | {tool_call(NextStep(operation, given, self._room_id))}"


def told(ask: MessageJob, found: JobChanged) -> str:
    job = found.job
    return f"told {found.event.ref} ({job.status}): {one_line(found.event.message)}{Moves(ask).open(job.job_id)}"


def listed(ask: ListJobs, found: Jobs) -> str:
    moves = Moves(ask)
    rows = [
        f"{job.last_ref} {job.job_id} ({job.status}) {job.priority} {one_line(job.title)}{moves.open(job.job_id)}"
        for job in found.jobs
    ]
    head = f"{ask.room_id} jobs count={found.count} has_more={str(found.has_more).lower()}"
    return "\n".join([head, *rows, *([f"MORE: cursor={found.cursor}"] if found.cursor else [])])


def opened(ask: OpenJob, found: JobOpened) -> str:
    """One job on a page: where it stands, what proves it, where its work is, and its newest events."""
    job, moves = found.job, Moves(ask)
    rows = [f"{job.job_id} ({job.status}) {one_line(job.title, WHOLE)}{_next_move(job, moves)}", _about(found)]
    rows += [f"why: {one_line(found.why, WHOLE)}"] if found.why else []
    if asked := found.question:
        rows.append(f"? {asked.ref}: {one_line(asked.message, WHOLE)}{moves.reply(job.job_id)}")
    rows += _said_to_it(found)
    rows += [f"summary: {one_line(job.summary, WHOLE)}"] if job.summary else []
    rows += [f"so far: {one_line(found.resume.summary, WHOLE)}"] if found.resume and not job.completed_at else []
    rows += [*_proof(found), *_branch(found), *(f"- {each.ref}" for each in found.artifacts or ())]
    if found.prompt is not None:
        rows += ["prompt:", *(f"    {one_line(line, len(line))}".rstrip() for line in found.prompt.splitlines())]
    if found.heartbeat:
        rows.append(f"heartbeat: {one_line(found.heartbeat.message)}")
    rows += ["events, newest first:" if found.events else "", *(f"- {event_line(each)}" for each in found.events)]
    if found.has_more_events and found.events:
        rows.append(f"MORE: before_seq={found.events[-1].seq}")
    return "\n".join(filter(None, rows))


def _next_move(job: JobView, moves: Moves) -> str:
    return moves.requeue(job.job_id) if job.status == "FAILED" else ""


def _about(found: JobOpened) -> str:
    job = found.job
    parts = [job.priority, f"{job.executor} {job.executor_profile}", job.task, job.anchor, f"by {job.created_by}"]
    parts += [f"slice {job.slices}"] if job.slices else []
    parts += [f"runner {job.runner}"] if job.runner else []
    parts += [f"after {', '.join(found.after)}"] if found.after else []
    return ", ".join(one_line(each) for each in parts if each)


def _said_to_it(found: JobOpened) -> Iterator[str]:
    if found.job.message_state:
        yield f"your message {found.job.message_ref} is {found.job.message_state}"
    for each in found.unread:
        yield f"- {each.ref}: {one_line(each.message, WHOLE)}"


def _proof(found: JobOpened) -> Iterator[str]:
    if found.waiver:
        yield f"proof waived by {one_line(found.waiver.by)}: {one_line(found.waiver.message, WHOLE)}"
    if found.evidence:
        yield "proof, taken on a claim:" if found.accepted == "claimed" else "proof:"
    for each in found.evidence:
        content = f", sha256 {each.sha256[:12]}" if each.sha256 else ""
        status = f", exit {each.exit_code}" if each.exit_code is not None else ""
        why = f", {one_line(each.why)}" if each.why else ""
        worth = "" if each.proof else ", proves nothing"
        yield f"- {one_line(each.ref)}: {each.state}{content}{status}{why}{worth}"
    if found.expected_artifacts:
        told = (f"{each.artifact}{'' if each.there else ' (missing)'}" for each in found.expected_artifacts)
        yield f"expected: {', '.join(told)}"


def _branch(found: JobOpened) -> Iterator[str]:
    if branch := found.branch:
        size = f"{branch.files} files, +{branch.insertions} -{branch.deletions}, {branch.commits} commits"
        left = f", {branch.uncommitted} uncommitted" if branch.uncommitted else ""
        yield f"branch {one_line(branch.name)} from {one_line(branch.base)}: {size}{left}"
        for each in branch.conflicts:
            yield f"! conflicts with {one_line(each.branch)} in {one_line(', '.join(each.paths), WHOLE)}"


def radar(ask: ShowRadar, found: Radar) -> str:
    moves = Moves(ask)
    rows = [_head(ask, found)]
    if told := found.reply:
        rows.append(f"told {told.event.ref}: {one_line(told.event.message)}")
    if found.runner_bootstrap:
        rows.append(f"CMD: {found.runner_bootstrap.cmd}")
    rows += [_runner(each, moves) for each in found.runner_leases[:RUNNERS]]
    rows += [_lost(each, moves) for each in found.runner_leases_offline[:LOST]]
    rows += ["".join(_issue(each, moves)) for each in found.runner_diagnostics[:ISSUES]]
    rows += [job_line(each, moves) for each in found.jobs]
    if found.left_out:
        rows.append(f"BUDGET_TRUNCATED: {found.left_out} jobs left out. Raise max_chars to see them.")
    elif found.truncated:
        rows.append("BUDGET_TRUNCATED: Raise max_chars to see the rest.")
    elif found.has_more:
        rows.append("MORE: Increase limit or filter by status/task/anchor.")
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


def _runner(runner: RunnerView, moves: Moves) -> str:
    jobs = runner.job_ids or ([runner.active_job_id] if runner.active_job_id else [])
    named = f" job={','.join(jobs)}" if jobs else ""
    opened = "".join(moves.open(job_id) for job_id in jobs[:OPENED])
    return f"runner {runner.state} {runner.runner_id}{moves.open(f'runner:{runner.runner_id}')}{named}{opened}"


def _lost(runner: RunnerView, moves: Moves) -> str:
    last = f" last_job={runner.active_job_id}" if runner.active_job_id else ""
    job = moves.open(runner.active_job_id) if runner.active_job_id else ""
    opened = moves.open(f"runner:{runner.runner_id}")
    return f"runner offline {runner.runner_id} last={runner.status}{last}{opened}{job}"


def _issue(issue: Issue, moves: Moves) -> Iterator[str]:
    yield f"{_SIGNS[issue.severity]} diag {issue.kind}"
    if issue.runner_id:
        yield f" runner={issue.runner_id}"
    if issue.job_id:
        yield f" job={issue.job_id}"
    if issue.runner_id:
        yield moves.open(f"runner:{issue.runner_id}")
    if issue.job_id:
        yield moves.open(issue.job_id)
    yield f" | {issue.message}"


def job_line(row: RadarJob, moves: Moves) -> str:
    job, marker = row.job, f"{row.marker} " if row.marker else ""
    head = f"{row.last.ref} {marker}{job.job_id} ({job.status}) {one_line(job.title)}{moves.open(row.last.ref)}"
    if row.attention.needs_manager:
        head += moves.reply(job.job_id)
    if row.attention.failed:
        head += moves.acknowledge(job.job_id)
    said = kind_and_message(row.last.kind, row.last.message)
    # That it was created says nothing beside why it still waits.
    parts = [one_line(row.why)] if row.last.kind == "created" and row.why else [one_line(said), one_line(row.why)]
    if job.message_state in {"sent", "delivered"}:
        parts.append(f"your message {job.message_ref} is {job.message_state}")
    return " | ".join([head, *(part for part in parts if part)])
