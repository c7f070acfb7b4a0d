"""`jobs.radar`: the manager's inbox. What is urgent comes first, and every row says what to open next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tallystick.capabilities.jobs import diagnostics, queries, rules, runners, trimming
from tallystick.capabilities.jobs.contract import MessageJob
from tallystick.capabilities.jobs.diagnostics import Picture
from tallystick.capabilities.jobs.errors import ReplyIncomplete
from tallystick.capabilities.jobs.fold import attention, shown_seq, stale, stalled
from tallystick.capabilities.jobs.messaging import send
from tallystick.capabilities.jobs.model import Job, Runner, RunnerState, Status, number_of
from tallystick.capabilities.jobs.radar_contract import (
    AttentionView,
    LastSaid,
    Radar,
    RadarJob,
    RunnerStatus,
    ShowRadar,
)
from tallystick.capabilities.jobs.runner_contract import RunnerView
from tallystick.capabilities.jobs.sightings import Sighting, sightings
from tallystick.capabilities.jobs.views import Bootstrap, JobChanged, JobView
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Pending, moment, operation
from tallystick.ledger.tx import Tx

RECENT_MS = 24 * 60 * 60 * 1000
_DONE_BADLY = {Status.FAILED.value, Status.CANCELED.value}


@operation(
    "jobs.radar",
    waits=True,
    short="radar",
    examples=(
        {"room_id": "ROOM", "fmt": "lines"},
        {"room_id": "ROOM", "reply_job": "JOB-001", "reply_message": "Yes, keep the public API."},
    ),
)
def radar(tx: Tx, me: Caller, ask: ShowRadar) -> Radar | Pending[Radar]:
    """See at a glance which jobs need you and who is working: errors, questions, missing proof and lost claims first.

    `?` asks you something: answer with reply_job and reply_message. `!` is an error or missing proof, `~` a claim that
    ran out. Each row names the event to open. Runners are live, idle or offline by their leases alone.
    """
    rooms.room(tx, ask.room_id)
    reply = None
    if ask.reply_job or ask.reply_message or ask.reply_refs:
        if not tx.writable:
            return Pending(_look(tx, ask, None), act=True)
        reply = _reply(tx, me, ask)
    found = _look(tx, ask, reply)
    quiet = ask.since_seq is not None and found.cursor <= ask.since_seq and reply is None
    return Pending(found, wait_ms=ask.max_wait_ms) if quiet else found


def _reply(tx: Tx, me: Caller, ask: ShowRadar) -> JobChanged:
    if ask.reply_job is None or ask.reply_message is None:
        raise ReplyIncomplete
    tx.check_open(ask.room_id)
    answer = MessageJob(room_id=ask.room_id, job=ask.reply_job, message=ask.reply_message, refs=ask.reply_refs)
    return send(tx, me, answer)


def _look(tx: Tx, ask: ShowRadar, reply: JobChanged | None) -> Radar:
    online = queries.runners_online(tx, ask.room_id)
    seen = sightings(tx, ask.room_id, status=ask.status, task=ask.task, anchor=ask.anchor, limit=ask.limit)
    shown = seen[: ask.limit]
    states: dict[str, RunnerState] = {runner.runner_id: runner.state(tx.now) for runner in online}
    there = [runner for runner in online if ask.runners_status in {None, runner.status}]
    lost = queries.runners_offline(tx, ask.room_id, ask.offline_limit)
    waiting = not online and queries.any_queued(tx, ask.room_id)
    found = Radar(
        runner_status=_status(tx, ask.room_id, online),
        runner_leases=[RunnerView.of(runner, tx.now) for runner in there[: ask.runners_limit]],
        runner_leases_offline=[
            RunnerView.of(runner, tx.now) for runner in lost if runner.lease_expires_at > tx.now - RECENT_MS
        ],
        runner_diagnostics=diagnostics.issues(_picture(tx, ask.room_id, online, shown)),
        jobs=[_row(tx, each, states, stall_ms=ask.stall_after_s * 1000) for each in shown],
        count=len(shown),
        has_more=len(seen) > ask.limit,
        truncated=False,
        runner_bootstrap=Bootstrap(cmd=runners.start_command(ask.room_id)) if waiting else None,
        reply=reply,
        cursor=tx.head(ask.room_id).seq,
        text=None,
    )
    return trimming.fitted(ask, found)


def _status(tx: Tx, room_id: str, online: Sequence[Runner]) -> RunnerStatus:
    counts = queries.runner_counts(tx, room_id, since=tx.now - RECENT_MS)
    first = min(online, key=lambda runner: (runner.status != "live", runner.runner_id), default=None)
    return RunnerStatus(
        status=RunnerView.of(first, tx.now).state if first else "offline",
        live_count=counts.get("live", 0),
        idle_count=counts.get("idle", 0),
        offline_count=counts.get("offline", 0),
        runner_id=first.runner_id if first else None,
        active_job_id=first.active_job_id if first else None,
        lease_expires_at=moment(first.lease_expires_at if first else None),
    )


def _row(tx: Tx, seen: Sighting, states: Mapping[str, RunnerState], *, stall_ms: int) -> RadarJob:
    job, now = seen.job, attention(seen.job)
    view = AttentionView(
        needs_manager=now.needs_manager,
        needs_proof=now.needs_proof,
        has_error=now.has_error,
        stale=stale(job, seen.expires_at, now=tx.now),
        stalled=stalled(job, seen.expires_at, now=tx.now, after_ms=stall_ms),
    )
    running = job.runner_id if job.status is Status.RUNNING else None
    return RadarJob(
        job=JobView.of(job, seen.expires_at),
        marker=rules.marker(now, stale=view.stale),
        attention=view,
        last=LastSaid(ref=f"{job.job_id}@{shown_seq(job)}", kind=seen.kind, message=seen.message),
        runner_state=states.get(running, "offline") if running else None,
    )


def _picture(tx: Tx, room_id: str, online: Sequence[Runner], shown: Sequence[Sighting]) -> Picture:
    known = {seen.job.job_id: seen.job for seen in shown}
    active: dict[str, Job | None] = {}
    for runner in online:
        if job_id := runner.active_job_id:
            number = number_of(job_id)
            found = queries.job_at(tx, room_id, number) if number is not None else None
            active[job_id] = known.get(job_id) or found
    blocked = [seen.job for seen in shown if seen.job.blocked]
    failed = {
        job.job_id: [name for name, status in queries.comes_after(tx, job) if status in _DONE_BADLY] for job in blocked
    }
    return Picture(
        runners=online,
        complete=len(online) < queries.RUNNERS_AT_ONCE,
        active=active,
        running=[
            (seen.job, stale(seen.job, seen.expires_at, now=tx.now))
            for seen in shown
            if seen.job.status is Status.RUNNING
        ],
        failed_before={job_id: names for job_id, names in failed.items() if names},
    )
