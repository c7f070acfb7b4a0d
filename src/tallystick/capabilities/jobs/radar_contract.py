"""Input and result of `jobs.radar`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tallystick.capabilities.jobs.fields import AnchorId, JobId, MaxChars, Message, Refs, StatusName, TaskId
from tallystick.capabilities.jobs.model import RunnerState
from tallystick.capabilities.jobs.runner_contract import RunnerView
from tallystick.capabilities.jobs.views import Bootstrap, JobChanged, JobView
from tallystick.kernel.operation import Answer, Ask, Moment
from tallystick.ledger.contract import SEQ_LIMIT, RoomId, WaitMs


class ShowRadar(Ask):
    room_id: RoomId
    status: Annotated[StatusName | None, Meta(description="Only these; all that have not ended when left out.")] = None
    task: TaskId = None
    anchor: AnchorId = None
    limit: Annotated[int, Meta(ge=1, le=200, description="At most this many jobs.")] = 25
    runners_limit: Annotated[int, Meta(ge=1, le=50, description="At most this many runners.")] = 10
    runners_status: Annotated[Literal["idle", "live"] | None, Meta(description="Only these runners.")] = None
    offline_limit: Annotated[int, Meta(ge=0, le=50, description="At most this many lost runners.")] = 3
    stall_after_s: Annotated[
        int, Meta(ge=60, le=86_400, description="A running job without progress for so long counts as stalled.")
    ] = 600
    reply_job: Annotated[JobId | None, Meta(description="Answer this job's question; with reply_message.")] = None
    reply_message: Annotated[Message | None, Meta(description="The answer.")] = None
    reply_refs: Refs = []
    max_chars: MaxChars = None
    fmt: Annotated[Literal["json", "lines"], Meta(description="`lines`: also as text to read.")] = "json"
    since_seq: Annotated[
        Annotated[int, Meta(ge=0, le=SEQ_LIMIT)] | None,
        Meta(description="With max_wait_ms: wait for something after this cursor."),
    ] = None
    max_wait_ms: Annotated[WaitMs, Meta(description="How long to wait for something new, in ms.")] = 0


class AttentionView(Answer):
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
    runner_bootstrap: Bootstrap | None
    """Set when jobs are queued and no runner is there."""
    reply: JobChanged | None
    """The answer that was given with reply_job."""
    cursor: int
    """Pass it as since_seq to wait for the next change."""
    text: str | None
    """With fmt=lines, all of it as lines."""
