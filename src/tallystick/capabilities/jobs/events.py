"""What the ledger says of jobs: each creation, claim, report, question, message, artifact and end."""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, UnsetType, field

from tallystick.kernel.envelope import Body, Event
from tallystick.kernel.operation import JsonObject, Record


class JobStatus(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELED = "CANCELED"

    @property
    def active(self) -> bool:
        return self in {JobStatus.QUEUED, JobStatus.RUNNING}


class PriorityName(StrEnum):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"

    @classmethod
    def _missing_(cls, value: object) -> PriorityName | None:
        """In any case, and NORMAL for MEDIUM."""
        given = value.upper() if isinstance(value, str) else ""
        return cls.__members__.get("MEDIUM" if given == "NORMAL" else given)


class SelectedRunner(Record):
    """The runner and the executor that an `auto` job is for."""

    selected_executor: str
    selected_runner_id: str


class JobEvidence(Record):
    """What was found out about one ref of a job that ended."""

    ref: str
    kind: str
    state: str
    """`proof`, or why it is none; `stale` when a file it speaks for has changed since."""
    sha256: str | None = None
    exit_code: int | None = None


class JobBody(Body):
    """What all events of a job say."""

    job_id: str
    event: str
    """What happened, in a word; a report says its own."""
    message: str = ""
    percent: int | None | UnsetType = UNSET
    refs: list[str] | UnsetType = UNSET
    meta: JsonObject | UnsetType = UNSET
    """Merged into the job's meta, except by a claim."""


class JobCreated(JobBody, kind="x.tally.job.create"):
    """A job was queued."""

    number: int
    title: str
    prompt: str
    job_kind: str = field(name="kind")
    priority: PriorityName
    task: str | None
    anchor: str | None
    executor: str
    executor_profile: str
    after: list[str]
    """The jobs that must be DONE first."""
    routing: SelectedRunner | None = None
    meta: JsonObject = field(default_factory=JsonObject)


class JobClaimed(JobBody, kind="x.tally.job.claim"):
    """A runner took the job, or took it over from one whose claim had run out."""

    runner_id: str
    claim_revision: int
    expires_at: int


class _ByHolder(JobBody):
    runner_id: str
    claim_revision: int


class JobReported(_ByHolder, kind="x.tally.job.report"):
    """Its runner said how it is going."""

    proof: bool = False
    """Whether a ref is proof."""


class JobQuestioned(_ByHolder, kind="x.tally.job.question"):
    """Its runner asked the manager something."""

    proof: bool = False


class JobMessaged(JobBody, kind="x.tally.job.message"):
    """A manager answered or steered it."""

    proof: bool = False


class JobCompleted(_ByHolder, kind="x.tally.job.complete"):
    """Its runner ended it: DONE, FAILED or CANCELED."""

    status: JobStatus
    revision: int
    summary: str | None = None
    evidence: list[JobEvidence] = field(default_factory=list[JobEvidence])


class JobCanceled(JobBody, kind="x.tally.job.cancel"):
    """A manager ended it."""

    status: JobStatus
    revision: int
    summary: str | None = None


class JobRequeued(JobBody, kind="x.tally.job.requeue"):
    """It had ended and is queued again."""

    revision: int


class JobRouted(JobBody, kind="x.tally.job.route"):
    """It is for another runner now: the one it was for is gone or cannot do it."""

    routing: SelectedRunner


class JobArtifactPut(_ByHolder, kind="x.tally.job.artifact"):
    """A text was kept with it, under a new key or in place of an older one."""

    artifact_key: str
    content: str
    sha256: str


JOB_CHANGES: tuple[type[JobBody], ...] = (
    JobClaimed,
    JobReported,
    JobQuestioned,
    JobMessaged,
    JobCompleted,
    JobCanceled,
    JobRequeued,
    JobRouted,
)
JOB_KINDS = tuple(body.kind for body in (JobCreated, *JOB_CHANGES, JobArtifactPut))


def job_body(event: Event) -> JobBody:
    """What an event of a job says."""
    body = event.content
    if not isinstance(body, JobBody):
        raise TypeError(f"{event.kind} is no event of a job")
    return body
