"""What the ledger says of jobs: each creation, claim, report, question, message, artifact and end."""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, UnsetType, field

from tallystick.kernel.envelope import Body, Event
from tallystick.kernel.operation import JsonObject, Record

PROOF_THEN = "proof"
"""The state of evidence that proved a job, in events of earlier versions."""


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
    """The runner and the executor that an `auto` job was once meant for from its creation on."""

    selected_executor: str
    selected_runner_id: str


class JobEvidence(Record):
    """What was found out about one ref of a job that ended."""

    ref: str
    kind: str
    state: str
    """claimed, found, observed, stale, failed, missing, unreachable; in earlier versions `proof`, or why none."""
    sha256: str | None = None
    exit_code: int | None = None
    proves: bool | UnsetType = UNSET
    """Whether it proves the job."""
    why: str | UnsetType = UNSET
    """Why it proves nothing, or what it rests on."""
    elsewhere: bool | UnsetType = UNSET
    """A file that its runner measured outside the room's own folder, as in a worktree."""

    @property
    def proof(self) -> bool:
        return self.state == PROOF_THEN if self.proves is UNSET else self.proves


class ObservedCommand(Record):
    """A command that the runner saw end."""

    command: str
    exit_code: int
    at: int
    """When it ended, in ms."""


class BranchConflict(Record):
    """What cannot be merged with a job's branch as it stands."""

    branch: str
    paths: list[str]


class JobBranch(Record):
    """The git branch on which a job left its work."""

    name: str
    base: str
    """The branch that it began from."""
    commit: str
    commits: int
    files: int
    insertions: int
    deletions: int
    uncommitted: int
    conflicts: list[BranchConflict]


class ResumePoint(Record):
    """Where a job stands after a slice: what the next one starts from, whoever runs it."""

    summary: str
    """What earlier slices said, the newest last."""
    refs: list[str] = field(default_factory=list[str])
    failures: int = 0
    """Slices in a row that gave no answer."""
    gates: int = 0
    """Times in a row that it said DONE without proof."""
    seconds: int = 0
    """How long it has been worked on."""


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
    observed: list[ObservedCommand] | UnsetType = UNSET
    """Commands that the runner saw end since its last report."""


class JobReported(_ByHolder, kind="x.tally.job.report"):
    """Its runner said how it is going."""

    proof: bool = False
    """Whether a ref is proof."""
    slice: int | UnsetType = UNSET
    """The slice that it is about."""
    resume: ResumePoint | UnsetType = UNSET
    delivered_seq: int | UnsetType = UNSET
    """The newest message of the manager that the agent has been given."""
    read_seq: int | UnsetType = UNSET
    """The newest that it has answered for."""


class JobQuestioned(_ByHolder, kind="x.tally.job.question"):
    """Its runner asked the manager something."""

    proof: bool = False


class JobMessaged(JobBody, kind="x.tally.job.message"):
    """A manager answered or steered it."""

    proof: bool = False


class JobWaived(JobBody, kind="x.tally.job.waive"):
    """A manager lets it be DONE without proof, and says why."""


class JobCompleted(_ByHolder, kind="x.tally.job.complete"):
    """Its runner ended it: DONE, FAILED or CANCELED."""

    status: JobStatus
    revision: int
    summary: str | None = None
    evidence: list[JobEvidence] = field(default_factory=list[JobEvidence])
    accepted: str | UnsetType = UNSET
    """What let it be DONE where that was no evidence: `claimed` by the room's policy, or `waived`."""
    branch: JobBranch | UnsetType = UNSET
    """Where its work is, when it had a worktree of its own."""


class JobCanceled(JobBody, kind="x.tally.job.cancel"):
    """A manager ended it."""

    status: JobStatus
    revision: int
    summary: str | None = None


class JobRequeued(JobBody, kind="x.tally.job.requeue"):
    """It had ended and is queued again."""

    revision: int


class JobReleased(_ByHolder, kind="x.tally.job.release"):
    """Its runner gave it back: it is queued again, and whoever takes it goes on where it was."""

    revision: int
    waits_until: int | UnsetType = UNSET
    """It waits so long for the manager's answer, then it goes on without."""


class JobAcknowledged(JobBody, kind="x.tally.job.acknowledge"):
    """A manager has seen that it failed."""


class JobRouted(JobBody, kind="x.tally.job.route"):
    """It was for another runner from then on. No longer written: a job is for whoever claims it."""

    routing: SelectedRunner


class JobArtifactPut(_ByHolder, kind="x.tally.job.artifact"):
    """A text was kept with it, under a new key or in place of an older one."""

    artifact_key: str
    content: str
    sha256: str


class ExecutorsOrdered(Body, kind="x.tally.runner.executors"):
    """Which executors suit a profile was changed, the best first."""

    profile: str
    executors: list[str]


JOB_CHANGES: tuple[type[JobBody], ...] = (
    JobClaimed,
    JobReported,
    JobQuestioned,
    JobMessaged,
    JobWaived,
    JobCompleted,
    JobCanceled,
    JobRequeued,
    JobReleased,
    JobAcknowledged,
    JobRouted,
)
JOB_KINDS = tuple(body.kind for body in (JobCreated, *JOB_CHANGES, JobArtifactPut))


def job_body(event: Event) -> JobBody:
    """What an event of a job says."""
    body = event.content
    if not isinstance(body, JobBody):
        raise TypeError(f"{event.kind} is no event of a job")
    return body
