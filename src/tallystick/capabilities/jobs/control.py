"""`jobs.cancel`, `jobs.requeue` and `jobs.wait`: what a manager does with a job besides talking to it."""

from __future__ import annotations

from msgspec import structs

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries, rules
from tallystick.capabilities.jobs.contract import CancelJob, RequeueJob, WaitJob
from tallystick.capabilities.jobs.model import Job, Kind
from tallystick.capabilities.jobs.views import JobChanged, JobEvent, JobView, JobWaited
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Pending, operation
from tallystick.ledger.tx import Tx


def _append(tx: Tx, me: Caller, job: Job, kind: Kind, data: dict[str, object]) -> JobChanged:
    draft = Draft(kind=kind, data={"job_id": job.job_id, "revision": job.revision + 1, **data})
    (event,) = tx.append(job.room_id, agent_rules.principal(me.agent_id), [draft])
    return JobChanged(job=JobView.of(queries.job(tx, job.room_id, job.job_id)), event=JobEvent.of(event))


@operation("jobs.cancel", writes=True, examples=({"room_id": "ROOM", "job": "JOB-001", "reason": "no longer needed"},))
def cancel(tx: Tx, me: Caller, ask: CancelJob) -> JobChanged:
    """Cancel a job that has not ended. A running one needs force_running; its runner is refused at its next report."""
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_cancel(job, force_running=ask.force_running, expected_revision=ask.expected_revision)
    said = f"canceled: {ask.reason}" if ask.reason else "canceled"
    return _append(
        tx, me, job, Kind.CANCEL, {"event": "canceled", "message": said, "status": "CANCELED", "summary": ask.reason}
    )


@operation("jobs.requeue", writes=True, examples=({"room_id": "ROOM", "job": "JOB-001", "reason": "flaky network"},))
def requeue(tx: Tx, me: Caller, ask: RequeueJob) -> JobChanged:
    """Queue a job again that has ended: its runner and summary are cleared, its history and meta stay."""
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_requeue(job)
    rules.merged(job.meta_data, ask.meta)
    said = f"requeued: {ask.reason}" if ask.reason else "requeued"
    data: dict[str, object] = {"event": "requeued", "message": said, "refs": ask.refs, "meta": ask.meta}
    return _append(tx, me, job, Kind.REQUEUE, data)


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
