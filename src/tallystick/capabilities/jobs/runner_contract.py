"""Inputs and results of `runners.*`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tallystick.capabilities.jobs.fields import (
    ArtifactName,
    ExecutorName,
    JobMeta,
    LeaseTtl,
    Limit,
    ProfileName,
    RunnerId,
)
from tallystick.capabilities.jobs.model import Runner, RunnerState
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer, Ask, Moment, as_record
from tallystick.ledger.contract import RoomId, Text


class RunnerBeat(Ask):
    room_id: RoomId
    runner_id: RunnerId
    status: Annotated[Literal["idle", "live"], Meta(description="Whether it runs something right now.")]
    active_job_id: Annotated[
        Annotated[str, Meta(pattern=r"^JOB-[0-9]{3,18}\Z")] | None, Meta(description="The job it runs, when live.")
    ] = None
    lease_ttl_ms: LeaseTtl = None
    executors: Annotated[tuple[ExecutorName, ...], Meta(max_length=8, description="What it can run jobs with.")] = (
        "codex",
    )
    profiles: Annotated[tuple[ProfileName, ...], Meta(max_length=8, description="How thoroughly it can.")] = (
        "fast",
        "deep",
        "audit",
    )
    supports_artifacts: Annotated[
        list[ArtifactName], Meta(max_length=8, description="What it can make; anything when empty.")
    ] = []
    max_parallel: Annotated[int, Meta(ge=1, le=1000, description="How many jobs it runs at once.")] = 1
    sandbox_policy: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="How it confines what it runs.")
    ] = None
    meta: JobMeta = {}


class RunnerView(Answer):
    runner_id: str
    state: RunnerState
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
        return as_record(
            cls,
            {
                **{name: getattr(runner, name) for name in cls.__struct_fields__ if name != "state"},
                "executors": list(runner.executors),
                "profiles": list(runner.profiles),
                "supports_artifacts": list(runner.supports_artifacts),
                "state": runner.state(now),
            },
        )


class RunnerLease(Answer):
    lease: RunnerView


class ListRunners(Ask):
    room_id: RoomId
    status: Annotated[RunnerState | None, Meta(description="Only these.")] = None
    limit: Limit = 50


class Runners(Answer):
    runners: list[RunnerView]
    """Those that are there first, then the most recently lost."""
    count: int
    has_more: bool
