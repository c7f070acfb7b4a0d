"""Making a job: its needs, its routing among the runners that are there, and its first event."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries, routing, rules, runners
from tallystick.capabilities.jobs.contract import CreateJob
from tallystick.capabilities.jobs.model import AUTO, Kind, Needs, Policy, Routing, Things, job_id
from tallystick.capabilities.jobs.views import Bootstrap, JobCreated, JobEvent, JobView
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.ledger.tx import Tx


def create_job(tx: Tx, me: Caller, ask: CreateJob) -> JobCreated:
    """Create a job in a room that is known to be open."""
    by, things = agent_rules.principal(me.agent_id), tx.use(Things)
    if ask.task:
        things.check_task(tx, ask.room_id, ask.task)
    after = sorted({queries.job(tx, ask.room_id, earlier).job_id for earlier in ask.after})
    if ask.anchor:
        things.ensure_anchor(tx, ask.room_id, by, ask.anchor)
    outlook = queries.outlook(tx, ask.room_id)
    attended = (outlook.attended_until or 0) > tx.now
    needs = _needs(ask)
    online = queries.runners_online(tx, ask.room_id) if attended and ask.executor == AUTO else ()
    data = _created(ask, needs, after, routing.route(needs, online), number=1 + (outlook.number or 0))
    (event,) = tx.append(ask.room_id, by, [Draft(kind=Kind.CREATE, data=data)])
    queries.number_taken(tx, ask.room_id, outlook)
    job = queries.job(tx, ask.room_id, cast("str", data["job_id"]))
    start = None if attended else Bootstrap(cmd=runners.start_command(ask.room_id))
    return JobCreated(job=JobView.of(job), event=JobEvent.of(event), runner_bootstrap=start)


def _needs(ask: CreateJob) -> Needs:
    policy = Policy.read(ask.policy.to_data()) if ask.policy else Policy()
    return Needs(
        executor=ask.executor,
        profile=ask.executor_profile,
        policy=policy,
        artifacts=tuple(ask.expected_artifacts),
    )


def _created(
    ask: CreateJob, needs: Needs, after: list[str], routed: Routing | None, *, number: int
) -> dict[str, object]:
    chosen = {"selected_executor": routed.executor, "selected_runner_id": routed.runner_id} if routed else None
    meta = rules.merged({}, ask.meta) | {
        "executor": ask.executor,
        "executor_profile": ask.executor_profile,
        "policy": needs.policy.data(),
        "expected_artifacts": list(needs.artifacts),
    }
    if ask.executor_model:
        meta["executor_model"] = ask.executor_model
    if chosen:
        meta["routing"] = {**chosen, "policy": needs.policy.data()}
    return {
        "job_id": job_id(number),
        "number": number,
        "event": "created",
        "message": "created",
        "title": ask.title,
        "prompt": ask.prompt,
        "kind": ask.kind,
        "priority": ask.priority,
        "task": ask.task,
        "anchor": ask.anchor,
        "executor": ask.executor,
        "executor_profile": ask.executor_profile,
        "after": after,
        "routing": chosen,
        "meta": meta,
    }
