"""What a manager does with a job: `jobs.create`, `message`, `cancel`, `requeue` and `wait`."""

from __future__ import annotations

from msgspec import structs

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import claims, queries, rules, runners
from tallystick.capabilities.jobs.contract import CancelJob, CreateJob, MessageJob, PolicyAsk, RequeueJob, WaitJob
from tallystick.capabilities.jobs.events import (
    JobBody,
    JobCanceled,
    JobCreated,
    JobMessaged,
    JobRequeued,
    JobStatus,
    SelectedRunner,
)
from tallystick.capabilities.jobs.model import AUTO, Job, Needs, RoutingPolicy, job_id
from tallystick.capabilities.jobs.views import Bootstrap, CreateJobResult, JobChanged, JobEvent, JobView, JobWaited
from tallystick.capabilities.tasks import queries as tasks
from tallystick.capabilities.tasks.anchors import ensure_anchor
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Pending, operation
from tallystick.ledger.tx import Tx
from tallystick.proof.refs import salvage

_CREATE = {
    "room_id": "ROOM",
    "title": "Fix the parser",
    "prompt": "Make tests/test_parser.py pass.",
    "anchor": "a:parser",
}


@operation("jobs.create", writes=True, examples=(_CREATE,))
def create(tx: Tx, me: Caller, ask: CreateJob) -> CreateJobResult:
    """Delegate a piece of work: it is queued until a runner that can do it claims it.

    `executor: auto` chooses among the runners that are there, by `policy`, availability and queue. With `after` it
    waits for other jobs to be DONE. The hub runs nothing itself.
    """
    tx.check_open(ask.room_id)
    return create_job(tx, me, ask)


def create_job(tx: Tx, me: Caller, ask: CreateJob) -> CreateJobResult:
    """Create a job in a room that is known to be open."""
    by = agent_rules.principal(me.agent_id)
    if ask.task:
        tasks.task(tx, ask.room_id, ask.task)
    after = sorted({queries.job(tx, ask.room_id, earlier).job_id for earlier in ask.after})
    if ask.anchor:
        ensure_anchor(tx, ask.room_id, by, ask.anchor)
    outlook = queries.outlook(tx, ask.room_id)
    attended = (outlook.attended_until or 0) > tx.now
    needs = _needs(ask)
    online = queries.runners_online(tx, ask.room_id) if attended and ask.executor == AUTO else ()
    body = _created(ask, needs, after, rules.route(needs, online), number=1 + (outlook.number or 0))
    (event,) = tx.append(ask.room_id, by, [Draft.of(body)])
    queries.number_taken(tx, ask.room_id, outlook)
    job = queries.job(tx, ask.room_id, body.job_id)
    start = None if attended else Bootstrap(cmd=runners.start_command(ask.room_id))
    return CreateJobResult(job=JobView.of(job), event=JobEvent.of(event), runner_bootstrap=start)


def _needs(ask: CreateJob) -> Needs:
    given = ask.policy or PolicyAsk()
    return Needs(
        executor=ask.executor,
        profile=ask.executor_profile,
        policy=RoutingPolicy(prefer=tuple(given.prefer), forbid=tuple(given.forbid), min_profile=given.min_profile),
        artifacts=tuple(ask.expected_artifacts),
    )


def _created(
    ask: CreateJob, needs: Needs, after: list[str], routed: SelectedRunner | None, *, number: int
) -> JobCreated:
    meta = rules.merged({}, ask.meta) | {
        "executor": ask.executor,
        "executor_profile": ask.executor_profile,
        "policy": needs.policy.data(),
        "expected_artifacts": list(needs.artifacts),
    }
    if ask.executor_model:
        meta["executor_model"] = ask.executor_model
    if routed:
        meta["routing"] = rules.routing_meta(needs, routed)
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
        routing=routed,
        meta=meta,
    )


@operation(
    "jobs.message",
    writes=True,
    examples=({"room_id": "ROOM", "job": "JOB-001", "message": "Keep the public API; see CARD-001."},),
)
def message(tx: Tx, me: Caller, ask: MessageJob) -> JobChanged:
    """Answer a job's question or steer it while it is queued or running; whoever runs it gets this with its next slice.

    Refs in the text are found by themselves. A message that points at real proof also settles a proof gate.
    """
    tx.check_open(ask.room_id)
    return send(tx, me, ask)


def send(tx: Tx, me: Caller, ask: MessageJob) -> JobChanged:
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_messageable(job)
    refs = salvage(ask.refs, ask.message)
    body = JobMessaged(
        job_id=job.job_id, event="manager", message=ask.message, refs=refs, proof=claims.proves(tx, job, refs)
    )
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    job, claim = queries.job(tx, ask.room_id, ask.job), queries.claim(tx, job)
    return JobChanged(job=JobView.of(job, claim.expires_at if claim else None), event=JobEvent.of(event))


def _append(tx: Tx, me: Caller, job: Job, body: JobBody) -> JobChanged:
    (event,) = tx.append(job.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    return JobChanged(job=JobView.of(queries.job(tx, job.room_id, job.job_id)), event=JobEvent.of(event))


@operation("jobs.cancel", writes=True, examples=({"room_id": "ROOM", "job": "JOB-001", "reason": "no longer needed"},))
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


@operation("jobs.requeue", writes=True, examples=({"room_id": "ROOM", "job": "JOB-001", "reason": "flaky network"},))
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


@operation("jobs.wait", waits=True, examples=({"room_id": "ROOM", "job": "JOB-001"},))
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
