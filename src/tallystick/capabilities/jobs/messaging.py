"""`jobs.message`: what a manager says to a job, and to whoever runs it."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import ending, queries, rules
from tallystick.capabilities.jobs.contract import MessageJob
from tallystick.capabilities.jobs.model import Kind
from tallystick.capabilities.jobs.views import JobChanged, JobEvent, JobView
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import operation
from tallystick.ledger.tx import Tx
from tallystick.proof.salvage import salvage


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
    data: dict[str, object] = {
        "job_id": job.job_id,
        "event": "manager",
        "message": ask.message,
        "refs": refs,
        "proof": ending.proves(tx, job, refs),
    }
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft(kind=Kind.MESSAGE, data=data)])
    job, claim = queries.job(tx, ask.room_id, ask.job), queries.claim(tx, job)
    return JobChanged(job=JobView.of(job, claim.expires_at if claim else None), event=JobEvent.of(event))
