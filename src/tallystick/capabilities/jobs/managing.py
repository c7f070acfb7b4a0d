"""What a manager does with a job: `jobs.create`, `message`, `cancel`, `requeue` and `wait`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import structs

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import evidence, lines, queries, rules, runners
from tallystick.capabilities.jobs.contract import (
    AcknowledgeJob,
    CancelJob,
    CreateJob,
    MessageJob,
    PolicyAsk,
    RequeueJob,
    WaitJob,
)
from tallystick.capabilities.jobs.events import (
    JobAcknowledged,
    JobBody,
    JobCanceled,
    JobCreated,
    JobMessaged,
    JobRequeued,
    JobStatus,
)
from tallystick.capabilities.jobs.model import Job, Needs, RoutingPolicy, job_id
from tallystick.capabilities.jobs.views import (
    CreateJobResult,
    JobChanged,
    JobEvent,
    Jobs,
    JobTold,
    JobView,
    JobWaited,
)
from tallystick.capabilities.tasks import queries as tasks
from tallystick.capabilities.tasks.anchors import ensure_anchor
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Pending, Reach, operation
from tallystick.ledger.tx import Tx
from tallystick.proof.files import FileFact, FilesToRead
from tallystick.proof.refs import pointers, salvage

_CREATE = {
    "room_id": "ROOM",
    "title": "Fix the parser",
    "prompt": "Make tests/test_parser.py pass.",
    "anchor": "a:parser",
}


@operation("jobs.create", reach=Reach.WORK, writes=True, examples=(_CREATE,))
def create(tx: Tx, me: Caller, ask: CreateJob) -> CreateJobResult:
    """Delegate a piece of work: it is queued until a runner that can do it claims it.

    `executor: auto` leaves it to whoever claims it first: any runner that suits it and has a slot free. With `after` it
    waits for other jobs to be DONE. The hub runs nothing itself.
    """
    tx.check_open(ask.room_id)
    return create_job(tx, me, ask)


def create_job(tx: Tx, me: Caller, ask: CreateJob) -> CreateJobResult:
    """Create a job in a room that is known to be open."""
    by, needs = agent_rules.principal(me.agent_id), _needs(ask)
    rules.check_limits(needs)
    rules.check_wanted(ask.title, ask.prompt, ask.checks)
    if ask.task:
        tasks.task(tx, ask.room_id, ask.task)
    after = sorted({queries.job(tx, ask.room_id, earlier).job_id for earlier in ask.after})
    if ask.anchor:
        ensure_anchor(tx, ask.room_id, by, ask.anchor)
    outlook = queries.outlook(tx, ask.room_id)
    attended = (outlook.attended_until or 0) > tx.now
    body = _created(ask, needs, after, number=1 + (outlook.number or 0))
    (event,) = tx.append(ask.room_id, by, [Draft.of(body)])
    queries.number_taken(tx, ask.room_id, outlook)
    job = queries.job(tx, ask.room_id, body.job_id)
    start = runners.bootstrap(tx, ask.room_id, attended=attended)
    return CreateJobResult(job=JobView.of(job), event=JobEvent.of(event), runner_bootstrap=start)


def _needs(ask: CreateJob) -> Needs:
    given = ask.policy or PolicyAsk()
    return Needs(
        executor=ask.executor,
        profile=ask.executor_profile,
        policy=RoutingPolicy(prefer=tuple(given.prefer), forbid=tuple(given.forbid), min_profile=given.min_profile),
        artifacts=tuple(ask.expected_artifacts),
        checks=tuple(ask.checks),
    )


def _created(ask: CreateJob, needs: Needs, after: list[str], *, number: int) -> JobCreated:
    meta = rules.merged({}, ask.meta) | {
        "executor": ask.executor,
        "executor_profile": ask.executor_profile,
        "policy": needs.policy.data(),
        "expected_artifacts": list(needs.artifacts),
    }
    if ask.checks:
        meta["checks"] = list(ask.checks)
    if ask.executor_model:
        meta["executor_model"] = ask.executor_model
    return JobCreated(
        job_id=job_id(number),
        number=number,
        event="created",
        message="created",
        title=ask.title,
        prompt=ask.prompt,
        job_kind=ask.kind,
        priority=ask.priority,
        task=ask.task,
        anchor=ask.anchor,
        executor=ask.executor,
        executor_profile=ask.executor_profile,
        after=after,
        meta=meta,
    )


def _where(tx: Tx, me: Caller, ask: MessageJob) -> FilesToRead:
    return evidence.where(tx, me, ask.room_id)


def _read_files(ask: MessageJob, where: Callable[[], FilesToRead]) -> Mapping[str, FileFact]:
    """Read the files that the manager names as evidence."""
    return evidence.read_files(salvage(ask.refs, ask.message), where)


@operation(
    "jobs.message",
    reach=Reach.WORK,
    writes=True,
    read_before=_where,
    io_before=_read_files,
    examples=({"room_id": "ROOM", "job": "JOB-001", "message": "Keep the public API; see CARD-001."},),
)
def message(tx: Tx, me: Caller, ask: MessageJob, seen: Mapping[str, FileFact]) -> JobTold:
    """Answer a job's question or steer it while it is queued or running.

    The agent gets it inside its running slice where its harness allows that, and else first thing in the next one; the
    job's message_state says how far it has come. What the text points at is found by itself. A proof gate is settled by
    evidence that is named in `refs`, never by words; without any, waive the proof with jobs.waive.
    """
    tx.check_open(ask.room_id)
    found = send(tx, me, ask, seen)
    if ask.fmt == "lines":
        return JobTold(job=None, event=None, text=lines.told(ask, found))
    return JobTold(job=found.job, event=found.event, text=None)


def send(tx: Tx, me: Caller, ask: MessageJob, seen: Mapping[str, FileFact]) -> JobChanged:
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_messageable(job)
    vouched = evidence.vouches(tx, job, salvage(ask.refs, ask.message), seen) and _manages(tx, me, job)
    refs = pointers(ask.refs, ask.message)
    body = JobMessaged(job_id=job.job_id, event="manager", message=ask.message, refs=refs, proof=vouched)
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    job, claim = queries.job(tx, ask.room_id, ask.job), queries.claim(tx, job)
    return JobChanged(job=JobView.of(job, claim.expires_at if claim else None), event=JobEvent.of(event))


def _manages(tx: Tx, me: Caller, job: Job) -> bool:
    foreman = agents.trusted_foreman(tx, job.room_id, me.agent_id)
    return rules.manages(job, me, queries.runner_of(tx, job), foreman=foreman)


def _append(tx: Tx, me: Caller, job: Job, body: JobBody) -> JobChanged:
    (event,) = tx.append(job.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    return JobChanged(job=JobView.of(queries.job(tx, job.room_id, job.job_id)), event=JobEvent.of(event))


@operation(
    "jobs.cancel",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "job": "JOB-001", "reason": "no longer needed"},),
)
def cancel(tx: Tx, me: Caller, ask: CancelJob) -> JobChanged:
    """Cancel a job that has not ended. A running one needs force_running; its runner is refused at its next report."""
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_cancel(job, force_running=ask.force_running, expected_revision=ask.expected_revision)
    said = f"canceled: {ask.reason}" if ask.reason else "canceled"
    body = JobCanceled(
        job_id=job.job_id,
        event="canceled",
        message=said,
        status=JobStatus.CANCELED,
        revision=job.revision + 1,
        summary=ask.reason,
    )
    return _append(tx, me, job, body)


@operation(
    "jobs.requeue",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "job": "JOB-001", "reason": "flaky network"},),
)
def requeue(tx: Tx, me: Caller, ask: RequeueJob) -> JobChanged:
    """Queue a job again that has ended: its runner and summary are cleared, its history and meta stay."""
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_requeue(job)
    rules.merged(job.meta_data, ask.meta)
    said = f"requeued: {ask.reason}" if ask.reason else "requeued"
    body = JobRequeued(
        job_id=job.job_id, event="requeued", message=said, revision=job.revision + 1, refs=ask.refs, meta=ask.meta
    )
    return _append(tx, me, job, body)


FAILURES_AT_ONCE = 200


@operation(
    "jobs.acknowledge",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "job": "JOB-001", "reason": "done by hand"},),
)
def acknowledge(tx: Tx, me: Caller, ask: AcknowledgeJob) -> Jobs:
    """Take a failed job off the radar: you have seen it. Without `job`, all that have failed."""
    tx.check_open(ask.room_id)
    if ask.job is not None:
        found = [queries.job(tx, ask.room_id, ask.job)]
        rules.check_acknowledge(found[0])
    else:
        found = queries.failures(tx, ask.room_id, FAILURES_AT_ONCE)
    said = f"acknowledged: {ask.reason}" if ask.reason else "acknowledged"
    bodies = [JobAcknowledged(job_id=job.job_id, event="acknowledged", message=said) for job in found]
    if bodies:
        tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body) for body in bodies])
    seen = [JobView.of(queries.job(tx, ask.room_id, job.job_id)) for job in found]
    more = len(found) == FAILURES_AT_ONCE
    return Jobs(jobs=seen, count=len(seen), has_more=more, truncated=False, cursor=None, text=None)


@operation("jobs.wait", reach=Reach.READ, waits=True, examples=({"room_id": "ROOM", "job": "JOB-001"},))
def wait(tx: Tx, me: Caller, ask: WaitJob) -> JobWaited | Pending[JobWaited]:
    """Wait until a job has ended, or with `until: event` until something new happens to it.

    When the time is up first, the answer says timed_out; call again.
    """
    job = queries.job(tx, ask.room_id, ask.job)
    claim = queries.claim(tx, job)
    start = job.last_seq if ask.after_seq is None and ask.until == "event" else ask.after_seq or 0
    events = queries.events_after(tx, job, start, ask.max_events) if ask.max_events else []
    done = not job.status.active
    found = JobWaited(
        job=JobView.of(job, claim.expires_at if claim else None),
        done=done,
        timed_out=False,
        events=[JobEvent.of(event) for event in events],
        next_after_seq=events[-1].seq if events else start,
    )
    if done or (ask.until == "event" and job.last_seq > start):
        return found
    return Pending(structs.replace(found, timed_out=True), wait_ms=ask.max_wait_ms)
