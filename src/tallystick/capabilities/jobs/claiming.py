"""`jobs.claim`: a runner takes a job, by name or the next one for it; the room's lock makes it the only taker."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries, queue, routing, rules
from tallystick.capabilities.jobs.contract import ClaimJob
from tallystick.capabilities.jobs.errors import ClaimRefused
from tallystick.capabilities.jobs.model import AUTO, Job, Kind, Routing, Runner, Status
from tallystick.capabilities.jobs.views import JobClaimed, JobEvent, JobView
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import moment, operation
from tallystick.ledger.tx import Tx
from tallystick.proof import limits


@operation(
    "jobs.claim",
    writes=True,
    examples=({"room_id": "ROOM", "runner_id": "r1"}, {"room_id": "ROOM", "runner_id": "r1", "job": "JOB-001"}),
)
def claim(tx: Tx, me: Caller, ask: ClaimJob) -> JobClaimed:
    """Take a job to run it: the one named, or the next that this runner may take; by priority, then the oldest.

    The answer has the prompt and the claim_revision that every report and the completion must carry. Report within the
    lease to keep the job. `allow_stale` also takes over a job whose runner went silent. An answer without a job means
    that there is nothing to do.
    """
    tx.check_open(ask.room_id)
    runner = _runner(tx, ask)
    # Looked up once, and only for a job that is meant for somebody else.
    online = cache(partial(queries.runners_online, tx, ask.room_id))
    if ask.job is not None:
        job = queries.job(tx, ask.room_id, ask.job)
        anew = _check(tx, job, runner, online, allow_stale=ask.allow_stale)
        return _take(tx, me, ask, job, runner=runner, anew=anew)
    for job in _candidates(tx, ask):
        try:
            anew = _check(tx, job, runner, online, allow_stale=ask.allow_stale)
        except ClaimRefused:
            continue
        return _take(tx, me, ask, job, runner=runner, anew=anew)
    return JobClaimed(
        job=None,
        event=None,
        claim_revision=None,
        claim_expires_at=None,
        executor=None,
        prompt=None,
        meta={},
        artifacts=[],
    )


def _runner(tx: Tx, ask: ClaimJob) -> Runner:
    found = queries.claimant(tx, ask.room_id, ask.runner_id)
    # Whoever has less work in all than it can run at once has room; only otherwise are its claims counted.
    crowded = found is not None and found.jobs >= found.max_parallel
    held = queries.held(tx, ask.room_id, ask.runner_id) if crowded else 0
    return rules.check_runner(found, ask.runner_id, held, now=tx.now)


def _candidates(tx: Tx, ask: ClaimJob) -> Iterator[Job]:
    lost = queries.stale(tx, ask.room_id) if ask.allow_stale else []
    return heapq.merge(queue.ready(tx, ask.room_id), lost, key=lambda job: (job.priority, job.number))


def _check(
    tx: Tx, job: Job, runner: Runner, online: Callable[[], Sequence[Runner]], *, allow_stale: bool
) -> Routing | None:
    """Refuse unless this runner may have this job now; gives the routing where it had to be redone."""
    present = queries.claim(tx, job) if job.status is Status.RUNNING else None
    after = queries.comes_after(tx, job) if job.blocked else ()
    rules.check_claimable(job, present, after, allow_stale=allow_stale, now=tx.now)
    rules.check_suits(job, runner)
    # A claim that ran out is anybody's who can do the work: its routing has had its chance.
    if job.status is not Status.QUEUED or job.routed_runner in {None, runner.runner_id}:
        return None
    return rules.check_routed(job, runner, online())


def _take(tx: Tx, me: Caller, ask: ClaimJob, job: Job, *, runner: Runner, anew: Routing | None) -> JobClaimed:
    queries.remember(tx, job)
    by, until = agent_rules.principal(me.agent_id), tx.now + limits.lease(ask.lease_ttl_ms, limits.LEASE_MS)
    drafts = [_rerouting(job, anew)] if anew else []
    drafts.append(_claiming(job, runner.runner_id, until))
    event = tx.append(ask.room_id, by, drafts)[-1]
    now = queries.job(tx, ask.room_id, job.job_id)
    return JobClaimed(
        job=JobView.of(now, until),
        event=JobEvent.of(event),
        claim_revision=now.revision,
        claim_expires_at=moment(until),
        executor=_executor(now, runner),
        prompt=queue.prompt(tx, job),
        meta=now.meta_data,
        artifacts=[each.artifact_key for each in queries.artifacts(tx, job)] if job.revision else [],
    )


def _executor(job: Job, runner: Runner) -> str:
    if job.executor != AUTO:
        return job.executor
    if job.routed_executor and job.routed_runner == runner.runner_id and job.routed_executor in runner.executors:
        return job.routed_executor
    chosen = routing.route(job.needs, [runner])
    return chosen.executor if chosen else runner.executors[0]


def _claiming(job: Job, runner_id: str, until: int) -> Draft:
    again = job.status is Status.RUNNING
    data: dict[str, object] = {
        "job_id": job.job_id,
        "event": "reclaimed" if again else "claimed",
        "message": f"{'reclaimed' if again else 'claimed'} by {runner_id}",
        "runner_id": runner_id,
        "claim_revision": job.revision + 1,
        "expires_at": until,
    }
    if again:
        data["meta"] = {"previous_runner_id": job.runner_id, "reason": "ttl_expired"}
    return Draft(kind=Kind.CLAIM, data=data)


def _rerouting(job: Job, anew: Routing) -> Draft:
    chosen = {"selected_executor": anew.executor, "selected_runner_id": anew.runner_id}
    data: dict[str, object] = {
        "job_id": job.job_id,
        "event": "routed",
        "message": f"routed to {anew.runner_id}: {job.routed_runner} is gone or cannot do it",
        "routing": chosen,
        "meta": {"routing": {**chosen, "policy": job.needs.policy.data()}},
    }
    return Draft(kind=Kind.ROUTE, data=data)
