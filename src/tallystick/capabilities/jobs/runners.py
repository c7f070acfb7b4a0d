"""`runners.*`: who can run jobs. A runner is there while its lease is; nothing is guessed from what its jobs do."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import Field

from tallystick.capabilities.jobs import queries
from tallystick.capabilities.jobs.fields import (
    ArtifactName,
    ExecutorName,
    JobId,
    LeaseTtl,
    Limit,
    Meta,
    ProfileName,
    RunnerId,
)
from tallystick.capabilities.jobs.model import Runner, texts
from tallystick.capabilities.jobs.queries import SQL
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import to_json
from tallystick.kernel.errors import TooLarge
from tallystick.kernel.operation import Answer, Ask, Moment, operation
from tallystick.ledger.contract import RoomId
from tallystick.ledger.tx import Tx
from tallystick.proof import limits

State = Literal["idle", "live", "offline"]


class RunnerBeat(Ask):
    room_id: RoomId
    runner_id: RunnerId
    status: Annotated[Literal["idle", "live"], Field(description="Whether it runs something right now.")]
    active_job_id: Annotated[JobId | None, Field(description="The job it runs, when live.")] = None
    lease_ttl_ms: LeaseTtl = None
    executors: Annotated[list[ExecutorName], Field(max_length=8, description="What it can run jobs with.")] = ["codex"]
    profiles: Annotated[list[ProfileName], Field(max_length=8, description="How thoroughly it can.")] = [
        "fast",
        "deep",
        "audit",
    ]
    supports_artifacts: Annotated[
        list[ArtifactName], Field(max_length=8, description="What it can make; anything when empty.")
    ] = []
    max_parallel: Annotated[int, Field(ge=1, le=1000, description="How many jobs it runs at once.")] = 1
    sandbox_policy: Annotated[str | None, Field(max_length=200, description="How it confines what it runs.")] = None
    meta: Meta = {}


class RunnerView(Answer):
    runner_id: str
    state: State
    """From its lease alone: offline when that has run out."""
    status: Literal["idle", "live"]
    """What it last said."""
    active_job_id: str | None
    executors: list[str]
    profiles: list[str]
    supports_artifacts: list[str]
    max_parallel: int
    sandbox_policy: str | None
    jobs: int
    """How many jobs it runs or is in line for."""
    agent_id: str
    lease_expires_at: Moment
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, runner: Runner, now: Instant) -> RunnerView:
        return cls.model_validate(
            {
                **{name: getattr(runner, name) for name in cls.model_fields if name != "state"},
                "executors": list(runner.executors),
                "profiles": list(runner.profiles),
                "supports_artifacts": list(runner.supports_artifacts),
                "state": runner.state(now),
            }
        )


class RunnerLease(Answer):
    lease: RunnerView


class ListRunners(Ask):
    room_id: RoomId
    status: Annotated[State | None, Field(description="Only these.")] = None
    limit: Limit = 50


class Runners(Answer):
    runners: list[RunnerView]
    """Those that are there first, then the most recently lost."""
    count: int
    has_more: bool


def start_command(room_id: str) -> str:
    """What to type to get a runner for a room."""
    return f"tally runner --room {room_id}"


@operation(
    "runners.heartbeat",
    writes=True,
    examples=({"room_id": "ROOM", "runner_id": "r1", "status": "idle", "executors": ["codex", "claude_code"]},),
)
def heartbeat(tx: Tx, me: Caller, ask: RunnerBeat) -> RunnerLease:
    """Say that a runner is there and what it can do; send it again before the lease runs out. It leaves no event."""
    rooms.check_open(tx, ask.room_id)
    meta = to_json(ask.meta)
    if len(meta.encode()) > limits.META:
        raise TooLarge(f"meta is larger than {limits.META} bytes.", field="meta", limit=limits.META)
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
        lease_expires_at=tx.now + limits.lease(ask.lease_ttl_ms, limits.RUNNER_LEASE_MS),
        now=tx.now,
    )
    kept = cast("Runner", queries.runner(tx, ask.room_id, ask.runner_id))
    return RunnerLease(lease=RunnerView.of(kept, tx.now))


@operation("runners.list", examples=({"room_id": "ROOM"},))
def list_runners(tx: Tx, me: Caller, ask: ListRunners) -> Runners:
    """List the runners of a room: live and idle ones by their leases, then those that went silent."""
    rooms.room(tx, ask.room_id)
    there = queries.runners_online(tx, ask.room_id, ask.limit + 1) if ask.status != "offline" else ()
    gone = queries.runners_offline(tx, ask.room_id, ask.limit + 1) if ask.status in {None, "offline"} else ()
    found = [RunnerView.of(runner, tx.now) for runner in (*there, *gone)]
    wanted = [runner for runner in found if ask.status in {None, runner.state}]
    return Runners(
        runners=wanted[: ask.limit], count=min(len(wanted), ask.limit), has_more=len(wanted) > ask.limit
    )
