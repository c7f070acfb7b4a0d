"""`jobs.create` and `jobs.report`; and the capability as a whole."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import (
    artifacts,
    claiming,
    control,
    ending,
    messaging,
    queries,
    radar,
    reading,
    replay,
    rules,
    runners,
)
from tallystick.capabilities.jobs.asking import OFFERS
from tallystick.capabilities.jobs.contract import CreateJob, ReportJob
from tallystick.capabilities.jobs.creating import create_job
from tallystick.capabilities.jobs.model import Job, Kind
from tallystick.capabilities.jobs.opening import open_ref
from tallystick.capabilities.jobs.projections import PROJECTIONS, TABLES
from tallystick.capabilities.jobs.queries import SQL
from tallystick.capabilities.jobs.views import JobCreated, JobEvent, JobView, Reported
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import moment, operation
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Tx
from tallystick.proof import limits

_CREATE = {
    "room_id": "ROOM",
    "title": "Fix the parser",
    "prompt": "Make tests/test_parser.py pass.",
    "anchor": "a:parser",
}
_HOLDER = {"room_id": "ROOM", "job": "JOB-001", "runner_id": "r1", "claim_revision": 1}


@operation("jobs.create", writes=True, examples=(_CREATE,))
def create(tx: Tx, me: Caller, ask: CreateJob) -> JobCreated:
    """Delegate a piece of work: it is queued until a runner that can do it claims it.

    `executor: auto` chooses among the runners that are there, by `policy`, availability and queue. With `after` it
    waits for other jobs to be DONE. The hub runs nothing itself.
    """
    tx.check_open(ask.room_id)
    return create_job(tx, me, ask)


@operation(
    "jobs.report",
    writes=True,
    examples=(
        {**_HOLDER, "kind": "progress", "message": "parser rewritten, 3 of 5 tests pass", "percent": 60},
        {**_HOLDER, "kind": "question", "message": "May I change the public API?"},
    ),
)
def report(tx: Tx, me: Caller, ask: ReportJob) -> Reported:
    """Say how a job is going, and keep it: every report renews the claim.

    `question` calls the manager, `checkpoint` is a milestone, `error` and `proof_gate` ask for attention, and a
    `heartbeat` only renews. A refusal means that the job is no longer yours: stop.
    """
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_holder(job, ask.runner_id, ask.claim_revision)
    until = tx.now + limits.lease(ask.lease_ttl_ms, limits.LEASE_MS)
    if ask.kind == "heartbeat":
        _beat(tx, job, ask, until)
        return Reported(
            job=JobView.of(job, until), event=None, claim_expires_at=moment(until), manager_seq=job.manager_seq
        )
    rules.merged(job.meta_data, ask.meta)
    data: dict[str, object] = {
        "job_id": job.job_id,
        "event": ask.kind,
        "message": ask.message,
        "percent": ask.percent,
        "refs": ask.refs,
        "meta": ask.meta,
        "runner_id": ask.runner_id,
        "claim_revision": ask.claim_revision,
        "proof": ending.proves(tx, job, ask.refs),
    }
    by = agent_rules.principal(me.agent_id)
    (event,) = tx.append(
        ask.room_id, by, [Draft(kind=Kind.QUESTION if ask.kind == "question" else Kind.REPORT, data=data)]
    )
    tx.run(SQL["renew"], room_id=job.room_id, number=job.number, expires_at=until)
    job = queries.job(tx, ask.room_id, ask.job)
    return Reported(
        job=JobView.of(job, until),
        event=JobEvent.of(event),
        claim_expires_at=moment(until),
        manager_seq=job.manager_seq,
    )


def _beat(tx: Tx, job: Job, ask: ReportJob, until: int) -> None:
    tx.run(
        SQL["beat"],
        room_id=job.room_id,
        number=job.number,
        expires_at=until,
        now=tx.now,
        message=ask.message,
        percent=ask.percent,
    )


CAPABILITY = Capability(
    name="jobs",
    package="tallystick.capabilities.jobs",
    operations=(
        create,
        reading.list_jobs,
        reading.open_job,
        reading.tail,
        replay.replay,
        radar.radar,
        claiming.claim,
        report,
        messaging.message,
        ending.complete,
        control.requeue,
        control.cancel,
        control.wait,
        artifacts.put,
        artifacts.get,
        runners.heartbeat,
        runners.list_runners,
    ),
    projections=PROJECTIONS,
    tables=TABLES,
    offers=OFFERS,
    opens=open_ref,
)
