"""What `jobs.*` answer."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET

from tallystick.capabilities.jobs.contract import (
    StatusName,
)
from tallystick.capabilities.jobs.events import (
    JobBody,
    JobBranch,
    JobCompleted,
    JobEvidence,
    JobStatus,
    ResumePoint,
    job_body,
)
from tallystick.capabilities.jobs.model import Claim, Job, MessageState, RunnerState
from tallystick.capabilities.jobs.runners_contract import RunnerView
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import Answer, JsonObject, Moment, moment


class JobView(Answer):
    job_id: str
    revision: int
    """Rises with every claim and every end; a claim's own is its token."""
    status: StatusName
    title: str
    kind: str
    priority: Literal["LOW", "MEDIUM", "HIGH"]
    task: str | None
    anchor: str | None
    executor: str
    executor_profile: str
    runner: str | None
    blocked: int
    """How many jobs it still comes after."""
    claim_expires_at: Moment | None
    waits_until: Moment | None
    """Nobody takes it before the manager's answer, or this time."""
    slices: int
    """How many slices have begun."""
    message_ref: str | None
    """The manager's newest message."""
    message_state: MessageState | None
    """How far that has come: sent, delivered to the agent, read by it."""
    summary: str | None
    refs: list[str]
    created_by: str
    created_at: Moment
    updated_at: Moment
    completed_at: Moment | None
    last_ref: str
    """The event to open first."""

    @classmethod
    def of(cls, job: Job, expires_at: Instant | None = None) -> JobView:
        return cls(
            job_id=job.job_id,
            revision=job.revision,
            status=job.status.value,
            title=job.title,
            kind=job.kind,
            priority=job.priority.name,
            task=job.task_id,
            anchor=job.anchor_id,
            executor=job.executor,
            executor_profile=job.profile,
            runner=job.runner_id,
            blocked=job.blocked,
            claim_expires_at=moment(expires_at if job.status is JobStatus.RUNNING else None),
            waits_until=moment(expires_at if job.status is JobStatus.QUEUED else None),
            slices=job.slices,
            message_ref=f"{job.job_id}@{job.manager_seq}" if job.manager_seq else None,
            message_state=job.message_state,
            summary=job.summary,
            refs=job.ref_list,
            created_by=job.created_by,
            created_at=moment(job.created_at),
            updated_at=moment(job.updated_at),
            completed_at=moment(job.completed_at),
            last_ref=f"{job.job_id}@{job.shown_seq}",
        )


class JobEvent(Answer):
    seq: int
    job_id: str
    ref: str
    ts: Moment
    kind: str
    by: str
    message: str
    percent: int | None
    refs: list[str]
    meta: JsonObject

    @property
    def said(self) -> str:
        """Its kind and its message, which may begin with that word itself."""
        return kind_and_message(self.kind, self.message)

    @classmethod
    def of(cls, event: Event) -> JobEvent:
        body = job_body(event)
        return cls(
            seq=event.seq,
            job_id=body.job_id,
            ref=f"{body.job_id}@{event.seq}",
            ts=moment(event.ts),
            kind=body.event,
            by=event.by,
            message=said(body),
            percent=None if body.percent is UNSET else body.percent,
            refs=[] if body.refs is UNSET else body.refs,
            meta={} if body.meta is UNSET else body.meta,
        )


REASON = 300
"""How much of a summary the event of a failed job repeats."""


def kind_and_message(kind: str, message: str) -> str:
    return message if message.startswith(f"{kind}: ") else f"{kind}: {message}"


def said(body: JobBody) -> str:
    """What an event says; the end of a failed job with its reason."""
    if isinstance(body, JobCompleted) and body.status is JobStatus.FAILED:
        return with_reason(body.message, body.summary)
    return body.message


def with_reason(message: str, summary: str | None) -> str:
    why = " ".join((summary or "").split())
    return f"{message}: {why if len(why) <= REASON else why[: REASON - 1] + '…'}" if why else message


class JobHeartbeat(Answer):
    """The newest sign of life of a running job; older ones are not kept."""

    at: Moment
    message: str
    percent: int | None

    @classmethod
    def of(cls, claim: Claim | None) -> JobHeartbeat | None:
        if claim is None or claim.beat_at is None:
            return None
        return cls(at=moment(claim.beat_at), message=claim.beat_message or "", percent=claim.beat_percent)


class Bootstrap(Answer):
    cmd: str
    """What to type to start a runner."""


class CreateJobResult(Answer):
    job: JobView
    event: JobEvent
    runner_bootstrap: Bootstrap | None
    """Set when no runner is there to take it."""


class Jobs(Answer):
    jobs: list[JobView]
    count: int
    has_more: bool
    truncated: bool
    """Whether max_chars left some out."""
    cursor: str | None
    """Pass it to page on."""
    text: str | None
    """With fmt=lines, the jobs as lines, and only so."""


class ArtifactView(Answer):
    ref: str
    artifact_key: str
    size: int
    sha256: str
    seq: int


class ExpectedArtifact(Answer):
    artifact: str
    there: bool


class JobOpened(Answer):
    job: JobView
    prompt: str | None
    """Never cut: whole when asked for, whatever max_chars says."""
    after: list[str]
    events: list[JobEvent]
    """Newest first."""
    unread: list[JobEvent]
    """What the manager said and the agent has not acted on yet, whole, oldest first."""
    messages: list[JobEvent] | None
    """All that the manager said, oldest first."""
    resume: ResumePoint | None
    """Where the last slice left it."""
    waits: bool
    """Whether it waits for the manager's answer, in nobody's hands."""
    why: str
    """In words, why it does not move; empty when it does, or has ended."""
    question: JobEvent | None
    """What it asks its manager, as long as nobody has answered."""
    heartbeat: JobHeartbeat | None
    evidence: list[JobEvidence]
    """What is known of each ref of an ended job, and whether it still holds."""
    accepted: Literal["evidence", "claimed", "waived"] | None
    """What let a DONE job be done: evidence, a claim that the room's policy takes, or the manager's waiver."""
    waiver: JobEvent | None
    """The manager's word that it needs no proof."""
    expected_artifacts: list[ExpectedArtifact]
    branch: JobBranch | None
    """Where its work is, when it had a worktree of its own."""
    artifacts: list[ArtifactView] | None
    meta: JsonObject | None
    count: int
    has_more_events: bool
    truncated: bool
    text: str | None
    """With fmt=lines, all of the above as lines, and only so."""


class JobTail(Answer):
    job_id: str
    after_seq: int
    next_after_seq: int
    """Pass it as after_seq to go on; it never passes over an event that was not given."""
    events: list[JobEvent]
    heartbeat: JobHeartbeat | None
    count: int
    has_more: bool
    truncated: bool
    text: str | None
    """With fmt=lines, everything above as lines."""


class ClaimJobResult(Answer):
    """What a runner gets. Without a job there is nothing for it to do now."""

    job: JobView | None
    event: JobEvent | None
    claim_revision: int | None
    """Send it with every report and with the completion."""
    claim_expires_at: Moment | None
    began_at: Moment | None
    """When work on it began: what is older is no proof."""
    executor: str | None
    """The executor to use."""
    prompt: str | None
    meta: JsonObject
    artifacts: list[str]
    """What an earlier claim left, by key."""


class Reported(Answer):
    job: JobView
    event: JobEvent | None
    """None for a heartbeat, which leaves no event."""
    claim_expires_at: Moment
    manager_seq: int
    """The newest message of the manager; read it with jobs.tail when it has grown."""
    needs_manager: bool
    """Whether a question of the job is open: give it back with jobs.release, and it waits for the answer."""

    @classmethod
    def of(cls, job: Job, event: Event | None, expires_at: Instant) -> Reported:
        return cls(
            job=JobView.of(job, expires_at),
            event=JobEvent.of(event) if event else None,
            claim_expires_at=moment(expires_at),
            manager_seq=job.manager_seq,
            needs_manager=job.attention.needs_manager,
        )


class JobChanged(Answer):
    job: JobView
    event: JobEvent


class JobTold(Answer):
    job: JobView | None
    event: JobEvent | None
    text: str | None
    """With fmt=lines, all of the above as lines, and only so."""


class JobWaited(Answer):
    job: JobView
    done: bool
    timed_out: bool
    """True when the time was up first; that is no error: ask again."""
    events: list[JobEvent]
    next_after_seq: int


class ReplayedJob(Answer):
    job: JobView
    marker: Literal["!", "?", ""]
    """What it asked of the manager then; whether its claim had run out is not on record."""


class ReplayedJobs(Answer):
    room_id: str
    seq: int
    ts: Moment
    count: int
    jobs: list[ReplayedJob]
    """In the radar's order, those that had ended last."""


class ArtifactContent(Answer):
    artifact: ArtifactView
    content: str
    offset: int
    next_offset: int | None
    """Where to go on; None at the end."""


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
