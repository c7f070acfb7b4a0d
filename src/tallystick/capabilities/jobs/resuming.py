"""How a job goes on after its runner: `jobs.release` gives it back, and the record says where the next one begins."""

from __future__ import annotations

from msgspec import UNSET, structs

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries, rules
from tallystick.capabilities.jobs.contract import ReleaseJob
from tallystick.capabilities.jobs.events import JobReleased, JobReported, ResumePoint
from tallystick.capabilities.jobs.model import Job
from tallystick.capabilities.jobs.views import JobChanged, JobEvent, JobView
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx


@operation(
    "jobs.release",
    reach=Reach.WORK,
    writes=True,
    examples=(
        {"room_id": "ROOM", "job": "JOB-001", "runner_id": "r1", "claim_revision": 1, "reason": "the runner stops"},
    ),
)
def release(tx: Tx, me: Caller, ask: ReleaseJob) -> JobChanged:
    """Give a job back that you hold: it is queued again, and whoever takes it goes on where it was.

    While a question of it is open nobody takes it before the manager has answered, or answer_wait_s is over.
    """
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_holder(job, ask.runner_id, ask.claim_revision)
    queries.check_runner_owner(tx, ask.room_id, ask.runner_id, me)
    waits = job.attention.needs_manager
    why = ask.reason or ("waits for the manager's answer" if waits else "")
    body = JobReleased(
        job_id=job.job_id,
        event="released",
        message=f"released by {ask.runner_id}{f': {why}' if why else ''}",
        runner_id=ask.runner_id,
        claim_revision=ask.claim_revision,
        revision=job.revision + 1,
        waits_until=tx.now + ask.answer_wait_s * 1000 if waits else UNSET,
    )
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    now = queries.job(tx, ask.room_id, ask.job)
    waiting = queries.claim(tx, now) if waits else None
    return JobChanged(job=JobView.of(now, waiting.expires_at if waiting else None), event=JobEvent.of(event))


def resume_point(tx: Tx, job: Job) -> ResumePoint | None:
    """Where the last slice left it. A job that was queued anew keeps what was learned, and counts from the start."""
    if not job.resume_seq:
        return None
    found = reading.event_at(tx, job.room_id, job.resume_seq).read(JobReported).resume
    if found is UNSET:
        return None
    return found if job.slices else structs.replace(found, failures=0, gates=0, seconds=0)
