"""`runners.*`: who can run jobs. A runner is there while its lease is; nothing is guessed from what its jobs do."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries, rules
from tallystick.capabilities.jobs.contract import (
    META_LIMIT,
    RUNNER_LEASE_MS,
    ListRunners,
    RunnerBeat,
    SetExecutors,
    ShowExecutors,
)
from tallystick.capabilities.jobs.events import ExecutorsOrdered
from tallystick.capabilities.jobs.model import EXECUTOR_ORDER, PROFILES, ExecutorOrder, texts
from tallystick.capabilities.jobs.queries import SQL
from tallystick.capabilities.jobs.runners_contract import ExecutorsView, ExecutorTable, RunnerLease, Runners, RunnerView
from tallystick.capabilities.jobs.views import Bootstrap
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, to_json
from tallystick.kernel.errors import TooLarge
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger.tx import Tx


def start_command(tx: Tx, room_id: str) -> str | None:
    """What to type to get a runner for a room; None where the hub starts one by itself."""
    if tx.world.starts_runners and any(
        scope.machine_id == tx.world.machine_id for scope in rooms.scopes(tx, room_id)[:1]
    ):
        return None
    return f"tally runner --room {room_id}"


def bootstrap(tx: Tx, room_id: str, *, attended: bool) -> Bootstrap | None:
    """The same for an answer: nothing where a runner is there."""
    command = None if attended else start_command(tx, room_id)
    return Bootstrap(cmd=command) if command else None


@operation(
    "runners.heartbeat",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "runner_id": "r1", "status": "idle", "executors": ["codex", "claude_code"]},),
)
def heartbeat(tx: Tx, me: Caller, ask: RunnerBeat) -> RunnerLease:
    """Say that a runner is there and what it can do; send it again before the lease runs out. It leaves no event."""
    tx.check_open(ask.room_id)
    queries.check_runner_owner(tx, ask.room_id, ask.runner_id, me, renewing=True)
    meta = to_json(ask.meta)
    if len(meta.encode()) > META_LIMIT:
        raise TooLarge(f"meta is larger than {META_LIMIT} bytes.", field="meta", limit=META_LIMIT)
    tx.run(
        SQL["put_runner"],
        room_id=ask.room_id,
        runner_id=ask.runner_id,
        status=ask.status,
        active_job_id=ask.active_job_id,
        executors=texts(ask.executors),
        profiles=texts(ask.profiles),
        supports_artifacts=texts(ask.supports_artifacts),
        max_parallel=ask.max_parallel,
        sandbox_policy=ask.sandbox_policy,
        meta=meta,
        agent_id=me.agent_id,
        lease_expires_at=tx.now + rules.lease(ask.lease_ttl_ms, RUNNER_LEASE_MS),
        now=tx.now,
    )
    queries.runner_heard(tx, ask.room_id)
    kept = queries.runner(tx, ask.room_id, ask.runner_id)
    held = queries.jobs_of_runners(tx, ask.room_id, ask.runner_id)
    return RunnerLease(lease=RunnerView.of(kept, held.get(ask.runner_id, ()), tx.now))


@operation("runners.list", reach=Reach.READ, examples=({"room_id": "ROOM"},))
def list_runners(tx: Tx, me: Caller, ask: ListRunners) -> Runners:
    """List the runners of a room: live and idle ones by their leases, then those that went silent."""
    rooms.room(tx, ask.room_id)
    there = queries.runners_online(tx, ask.room_id, ask.limit + 1) if ask.status != "offline" else ()
    gone = queries.runners_offline(tx, ask.room_id, ask.limit + 1) if ask.status in {None, "offline"} else ()
    held = queries.jobs_of_runners(tx, ask.room_id)
    found = [RunnerView.of(runner, held.get(runner.runner_id, ()), tx.now) for runner in (*there, *gone)]
    wanted = [runner for runner in found if ask.status in {None, runner.state}]
    return Runners(runners=wanted[: ask.limit], count=min(len(wanted), ask.limit), has_more=len(wanted) > ask.limit)


@operation("runners.executors", reach=Reach.READ, examples=({"room_id": "ROOM"},))
def show_executors(tx: Tx, me: Caller, ask: ShowExecutors) -> ExecutorTable:
    """Show which executors suit a profile, the best first; `auto` takes the best that the claiming runner has."""
    rooms.room(tx, ask.room_id)
    return _table(queries.executor_order(tx, ask.room_id))


@operation(
    "runners.set_executors",
    reach=Reach.MANAGE,
    writes=True,
    examples=({"room_id": "ROOM", "profile": "deep", "executors": ["codex", "claude_code"]},),
)
def set_executors(tx: Tx, me: Caller, ask: SetExecutors) -> ExecutorTable:
    """Say which executors suit a profile, the best first. One that is left out gets no `auto` job of that profile."""
    tx.check_open(ask.room_id)
    body = ExecutorsOrdered(profile=ask.profile, executors=list(dict.fromkeys(ask.executors)))
    tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
    return _table(queries.executor_order(tx, ask.room_id))


def _table(order: ExecutorOrder) -> ExecutorTable:
    return ExecutorTable(
        profiles=[
            ExecutorsView(
                profile=profile,
                executors=list(order[profile]),
                changed=tuple(order[profile]) != EXECUTOR_ORDER[profile],
            )
            for profile in PROFILES
        ]
    )
