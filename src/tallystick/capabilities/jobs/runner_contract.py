"""Inputs and results of `runners.*`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tallystick.capabilities.jobs.fields import (
    ArtifactName,
    ExecutorName,
    LeaseTtl,
    Limit,
    Meta,
    ProfileName,
    RunnerId,
)
from tallystick.capabilities.jobs.model import Runner
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer, Ask, Moment
from tallystick.ledger.contract import RoomId, Text

State = Literal["idle", "live", "offline"]


class RunnerBeat(Ask):
    room_id: RoomId
    runner_id: RunnerId
    status: Annotated[Literal["idle", "live"], Field(description="Whether it runs something right now.")]
    active_job_id: Annotated[
        str | None, Field(pattern=r"^JOB-\d{3,18}$", description="The job it runs, when live.")
    ] = None
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
    sandbox_policy: Annotated[Text | None, Field(max_length=200, description="How it confines what it runs.")] = None
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
