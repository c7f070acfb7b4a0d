"""What `jobs.radar` and `runners.*` answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tallystick.capabilities.jobs.model import Runner, RunnerState
from tallystick.capabilities.jobs.views import Bootstrap, JobChanged, JobView
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer, JsonObject, Moment, as_record


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
    """How many jobs it has."""
    job_ids: list[str]
    """Those."""
    meta: JsonObject
    """What it says of itself, such as host, pid and folder."""
    agent_id: str
    lease_expires_at: Moment
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, runner: Runner, job_ids: Sequence[str], now: Instant) -> RunnerView:
        given = [name for name in cls.__struct_fields__ if name not in {"state", "job_ids", "meta"}]
        return as_record(
            cls,
            {
                **{name: getattr(runner, name) for name in given},
                "job_ids": list(job_ids),
                "meta": runner.meta_data,
                "executors": list(runner.executors),
                "profiles": list(runner.profiles),
                "supports_artifacts": list(runner.supports_artifacts),
                "state": runner.state(now),
            },
        )


class RunnerLease(Answer):
    lease: RunnerView


class Runners(Answer):
    runners: list[RunnerView]
    """Those that are there first, then the most recently lost."""
    count: int
    has_more: bool


class ExecutorsView(Answer):
    """One row of the table that `auto` chooses by."""

    profile: str
    executors: list[str]
    """Those that suit it, the best first."""
    changed: bool
    """Whether this room has changed it."""


class ExecutorTable(Answer):
    profiles: list[ExecutorsView]


class AttentionView(Answer):
    failed: bool
    """It failed, and nobody has acknowledged it."""
    needs_manager: bool
    """A question was asked after the manager's last word."""
    needs_proof: bool
    has_error: bool
    stale: bool
    """Its claim has run out."""
    stalled: bool
    """Its claim is renewed, and nothing comes of it."""


class LastSaid(Answer):
    ref: str
    kind: str
    message: str


class RadarJob(Answer):
    job: JobView
    marker: Literal["!", "?", "~", ""]
    attention: AttentionView
    why: str
    """In words, why it does not move; empty when it does."""
    last: LastSaid
    """What waits for an answer, else what was said last."""
    runner_state: RunnerState | None


class RunnerStatus(Answer):
    status: RunnerState
    live_count: int
    idle_count: int
    offline_count: int
    """Lost within the last 24 h."""
    runner_id: str | None
    active_job_id: str | None
    lease_expires_at: Moment | None


class Issue(Answer):
    kind: str
    severity: Literal["error", "warn", "stale"]
    runner_id: str | None
    job_id: str | None
    message: str


class Radar(Answer):
    runner_status: RunnerStatus
    runner_leases: list[RunnerView]
    runner_leases_offline: list[RunnerView]
    runner_diagnostics: list[Issue]
    jobs: list[RadarJob]
    """The most urgent first."""
    count: int
    has_more: bool
    truncated: bool
    """Whether max_chars left something out."""
    left_out: int
    """How many jobs it left out."""
    runner_bootstrap: Bootstrap | None
    """Set when jobs are queued and no runner is there."""
    reply: JobChanged | None
    """The answer that was given with reply_job."""
    cursor: int
    """Pass it as since_seq to wait for the next change."""
    text: str | None
    """With fmt=lines, all of the above lists as lines, and only so."""
