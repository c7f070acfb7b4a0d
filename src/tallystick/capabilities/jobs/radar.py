"""`jobs.radar`: the manager's inbox. What is urgent comes first, and every row says what to open next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import structs

from tallystick.capabilities.jobs import evidence, lines, queries, rules, runners
from tallystick.capabilities.jobs.contract import MessageJob, ShowRadar
from tallystick.capabilities.jobs.errors import ReplyIncomplete
from tallystick.capabilities.jobs.events import JobStatus
from tallystick.capabilities.jobs.lines import Standing
from tallystick.capabilities.jobs.managing import send
from tallystick.capabilities.jobs.model import Job, Runner, RunnerState, number_of
from tallystick.capabilities.jobs.queries import SQL
from tallystick.capabilities.jobs.runners_contract import RunnerView
from tallystick.capabilities.jobs.views import (
    AttentionView,
    Issue,
    JobChanged,
    JobView,
    LastSaid,
    Radar,
    RadarJob,
    RunnerStatus,
    with_reason,
)
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer, Pending, Reach, moment, operation
from tallystick.ledger.tx import Tx
from tallystick.proof.files import FileFact, FilesToRead
from tallystick.proof.refs import salvage

JobsBefore: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"""Of each job that waits for others, those and their status."""
RECENT_MS = 24 * 60 * 60 * 1000
_DONE_BADLY = {JobStatus.FAILED.value, JobStatus.CANCELED.value}


def _where(tx: Tx, me: Caller, ask: ShowRadar) -> FilesToRead:
    return evidence.where(tx, me, ask.room_id)


def _read_files(ask: ShowRadar, where: Callable[[], FilesToRead]) -> Mapping[str, FileFact]:
    """Read the files that a reply names as evidence."""
    return evidence.read_files(salvage(ask.reply_refs, ask.reply_message or ""), where)


@operation(
    "jobs.radar",
    reach=Reach.READ,
    waits=True,
    read_before=_where,
    io_before=_read_files,
    short="radar",
    examples=(
        {"room_id": "ROOM", "fmt": "lines"},
        {"room_id": "ROOM", "reply_job": "JOB-001", "reply_message": "Yes, keep the public API."},
    ),
)
def radar(tx: Tx, me: Caller, ask: ShowRadar, named: Mapping[str, FileFact]) -> Radar | Pending[Radar]:
    """See at a glance which jobs need you and who is working: errors, questions, missing proof and lost claims first.

    `?` asks you something: answer with reply_job and reply_message. `!` is an error or missing proof, `~` a claim that
    ran out. Each row names the event to open. Runners are live, idle or offline by their leases alone.
    """
    rooms.room(tx, ask.room_id)
    reply = None
    if ask.reply_job or ask.reply_message or ask.reply_refs:
        if not tx.writable:
            return Pending(look(tx, ask), act=True)
        reply = _reply(tx, me, ask, named)
    found = look(tx, ask, reply)
    quiet = ask.since_seq is not None and found.cursor <= ask.since_seq and reply is None
    return Pending(found, wait_ms=ask.max_wait_ms) if quiet else found


def _reply(tx: Tx, me: Caller, ask: ShowRadar, named: Mapping[str, FileFact]) -> JobChanged:
    if ask.reply_job is None or ask.reply_message is None:
        raise ReplyIncomplete
    tx.check_open(ask.room_id)
    answer = MessageJob(room_id=ask.room_id, job=ask.reply_job, message=ask.reply_message, refs=ask.reply_refs)
    return send(tx, me, answer, named)


def look(tx: Tx, ask: ShowRadar, reply: JobChanged | None = None) -> Radar:
    """The radar as it is now."""
    online = queries.runners_online(tx, ask.room_id)
    held = queries.jobs_of_runners(tx, ask.room_id)
    seen = radar_rows(tx, ask.room_id, status=ask.status, task=ask.task, anchor=ask.anchor, limit=ask.limit)
    shown = seen[: ask.limit]
    after = {each.job.job_id: queries.comes_after(tx, each.job) for each in shown if each.job.blocked}
    there = [runner for runner in online if ask.runners_status in {None, runner.status}]
    lost = queries.runners_offline(tx, ask.room_id, ask.offline_limit)
    waiting = not online and queries.any_queued(tx, ask.room_id)
    found = Radar(
        runner_status=_status(tx, ask.room_id, online),
        runner_leases=[
            RunnerView.of(runner, held.get(runner.runner_id, ()), tx.now) for runner in there[: ask.runners_limit]
        ],
        runner_leases_offline=[
            RunnerView.of(runner, held.get(runner.runner_id, ()), tx.now)
            for runner in lost
            if runner.lease_expires_at > tx.now - RECENT_MS
        ],
        runner_diagnostics=issues(_facts(tx, ask.room_id, online, shown, after)),
        jobs=_rows(tx, ask, online, shown, after),
        count=len(shown),
        has_more=len(seen) > ask.limit,
        truncated=False,
        left_out=0,
        runner_bootstrap=runners.bootstrap(tx, ask.room_id, attended=not waiting),
        reply=reply,
        cursor=tx.head(ask.room_id).seq,
        text=None,
    )
    return fitted(ask, found)


def _status(tx: Tx, room_id: str, online: Sequence[Runner]) -> RunnerStatus:
    counts = queries.runner_counts(tx, room_id, since=tx.now - RECENT_MS)
    first = min(online, key=lambda runner: (runner.status != "live", runner.runner_id), default=None)
    return RunnerStatus(
        status=first.state(tx.now) if first else "offline",
        live_count=counts.get("live", 0),
        idle_count=counts.get("idle", 0),
        offline_count=counts.get("offline", 0),
        runner_id=first.runner_id if first else None,
        active_job_id=first.active_job_id if first else None,
        lease_expires_at=moment(first.lease_expires_at if first else None),
    )


def _rows(
    tx: Tx, ask: ShowRadar, online: Sequence[Runner], shown: Sequence[RadarRow], after: JobsBefore
) -> list[RadarJob]:
    order = queries.executor_order(tx, ask.room_id)
    states: dict[str, RunnerState] = {runner.runner_id: runner.state(tx.now) for runner in online}
    stall_ms = ask.stall_after_s * 1000
    return [
        _row(
            seen,
            lines.why(
                Standing(job=seen.job, expires_at=seen.expires_at, after=after.get(seen.job.job_id, ())),
                online,
                order,
                now=tx.now,
                stall_ms=stall_ms,
            ),
            states,
            now=tx.now,
            stall_ms=stall_ms,
        )
        for seen in shown
    ]


def _row(seen: RadarRow, why: str, states: Mapping[str, RunnerState], *, now: Instant, stall_ms: int) -> RadarJob:
    job, wants = seen.job, seen.job.attention
    view = AttentionView(
        failed=wants.failed,
        needs_manager=wants.needs_manager,
        needs_proof=wants.needs_proof,
        has_error=wants.has_error,
        stale=job.stale(seen.expires_at, now=now),
        stalled=job.stalled(seen.expires_at, now=now, after_ms=stall_ms),
    )
    running = job.runner_id if job.status is JobStatus.RUNNING else None
    return RadarJob(
        job=JobView.of(job, seen.expires_at),
        marker=rules.marker(wants, stale=view.stale),
        attention=view,
        why=why,
        last=LastSaid(ref=f"{job.job_id}@{job.shown_seq}", kind=seen.kind, message=seen.message),
        runner_state=states.get(running, "offline") if running else None,
    )


def _facts(tx: Tx, room_id: str, online: Sequence[Runner], shown: Sequence[RadarRow], after: JobsBefore) -> RadarFacts:
    known = {seen.job.job_id: seen.job for seen in shown}
    active: dict[str, Job | None] = {}
    for runner in online:
        if job_id := runner.active_job_id:
            number = number_of(job_id)
            found = queries.job_at(tx, room_id, number) if number is not None else None
            active[job_id] = known.get(job_id) or found
    failed = {job_id: [name for name, status in before if status in _DONE_BADLY] for job_id, before in after.items()}
    return RadarFacts(
        runners=online,
        complete=len(online) < queries.RUNNERS_AT_ONCE,
        active=active,
        running=[
            (seen.job, seen.job.stale(seen.expires_at, now=tx.now))
            for seen in shown
            if seen.job.status is JobStatus.RUNNING
        ],
        failed_before={job_id: names for job_id, names in failed.items() if names},
    )


class RadarRow(msgspec.Struct, frozen=True, kw_only=True):
    """A job as the radar sees it, with the event to show first."""

    job: Job
    expires_at: Instant | None
    kind: str
    message: str

    @classmethod
    def of_row(cls, *, expires_at: Instant | None, body: str | None, **row: object) -> RadarRow:
        # Without a body it is the event that created the job, whose long prompt nobody needs here.
        said = msgspec.json.decode(body, type=ShownEvent) if body else ShownEvent(event="created", message="created")
        job = Job.of_row(**row)  # pyright: ignore[reportArgumentType]
        message = with_reason(said.message, job.summary) if said.event == "failed" else said.message
        return cls(job=job, expires_at=expires_at, kind=said.event, message=message)


class ShownEvent(msgspec.Struct):
    event: str
    message: str = ""


def radar_rows(
    tx: Tx, room_id: str, *, status: str | None, task: str | None, anchor: str | None, limit: int
) -> list[RadarRow]:
    """Up to one more than `limit` jobs, the most urgent first."""
    given = {"room_id": room_id, "status": status or "", "task": task or "", "anchor": anchor or ""}
    if status and not JobStatus(status).active:
        return tx.all(SQL["radar_ended"], RadarRow.of_row, limit=limit + 1, **given)
    found = tx.all(SQL["radar_urgent"], RadarRow.of_row, limit=limit + 1, **given)
    if len(found) <= limit:
        lost = tx.all(SQL["radar_stale"], RadarRow.of_row, now=tx.now, limit=limit + 1 - len(found), **given)
        found += lost
        if len(found) <= limit:
            known = {each.job.number for each in lost}
            rest = tx.all(SQL["radar_rest"], RadarRow.of_row, limit=limit + 1 + len(lost), **given)
            found += [each for each in rest if each.job.number not in known]
    return found[: limit + 1]


MOST = 20


class RadarFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a room, for the diagnostics."""

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


def issues(seen: RadarFacts) -> list[Issue]:
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


def _of_runners(seen: RadarFacts) -> Iterator[Issue]:
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
    elif job.status is not JobStatus.RUNNING:
        yield _issue("active_job_not_running", f"job is {job.status.value}", runner=name, job=job_id)
    elif job.runner_id != name:
        yield _issue("job_runner_mismatch", f"job is held by {job.runner_id}", runner=name, job=job_id)


def _of_jobs(seen: RadarFacts) -> Iterator[Issue]:
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


_ORDER = (("jobs", 1), ("runner_leases", 0), ("runner_leases_offline", 0), ("runner_diagnostics", 0))
"""What is cut from its end, one list after the other, and how much of it stays."""


def fitted(ask: ShowRadar, found: Radar) -> Radar:
    """The radar within max_chars, which are bytes of the whole answer; as lines where they were asked for."""
    if ask.max_chars is not None and _size(ask, found) > ask.max_chars:
        found = _trimmed(ask, found, ask.max_chars)
    return _answer(ask, found)


def _answer(ask: ShowRadar, found: Radar) -> Radar:
    """What is sent. Lines are there to be cheap, so what they say is not said again."""
    if ask.fmt == "json":
        return found
    return structs.replace(
        found,
        runner_leases=[],
        runner_leases_offline=[],
        runner_diagnostics=[],
        jobs=[],
        reply=None,
        text=lines.radar(ask, found),
    )


def _size(ask: ShowRadar, found: Radar) -> int:
    return len(_answer(ask, found).to_json())


def _trimmed(ask: ShowRadar, found: Radar, max_chars: int) -> Radar:
    found = structs.replace(found, truncated=True)
    for name, least in _ORDER:
        every: Sequence[Answer] = getattr(found, name)
        low, high = min(least, len(every)), len(every)
        # The most that fits, found by halving: writing a radar out is what costs.
        while low < high:
            middle = (low + high + 1) // 2
            fits = _size(ask, _cut(found, name, every[:middle])) <= max_chars
            low, high = (middle, high) if fits else (low, middle - 1)
        if low < len(every):
            found = _cut(found, name, every[:low])
    if found.runner_bootstrap and _size(ask, found) > max_chars:
        found = structs.replace(found, runner_bootstrap=None)
    return found


def _cut(found: Radar, name: str, kept: Sequence[Answer]) -> Radar:
    changes: dict[str, object] = {name: kept}
    if name == "jobs":
        changes |= {"count": len(kept), "has_more": True, "left_out": len(found.jobs) + found.left_out - len(kept)}
    return structs.replace(found, **changes)
