"""What `jobs.*` and `runners.*` take: the fields of the job protocol."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tallystick.capabilities.jobs.events import PriorityName
from tallystick.capabilities.jobs.model import RunnerState
from tallystick.capabilities.jobs.runners_contract import BranchAsk, FileAsk, Observed
from tallystick.kernel.operation import Ask, JsonObject, Reach
from tallystick.ledger.contract import SEQ_LIMIT, Replay, RoomId, Text, WaitMs
from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT

TITLE_LIMIT = 200
PROMPT_LIMIT = 50_000
KIND_LIMIT = 64
RUNNER_ID_LIMIT = 128
SUMMARY_LIMIT = 128_000
EVENT_KIND_LIMIT = 32
MESSAGE_LIMIT = 400
RESUME_LIMIT = 8_000
"""Of what earlier slices said, in characters."""
META_LIMIT = 16_384
"""Of a job's whole meta, in bytes of JSON."""
MODEL_NAME = r"[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]*"
"""It becomes a word of a command line."""
CHECKS_LIMIT, STALL_S = 8, 600
ARTIFACT_LIMIT = 512_000
ARTIFACTS_LIMIT = 8
ARTIFACT_KEY_LIMIT = 128
PAGE_LIMIT = 200

LEASE_MS = 180_000
"""How long a claim lasts without a report."""
RUNNER_LEASE_MS = 20_000
"""How long a runner counts as present without a heartbeat."""

JobId = Annotated[Text, Meta(max_length=40, description="Such as JOB-001.")]
RunnerId = Annotated[
    str,
    Meta(
        max_length=RUNNER_ID_LIMIT,
        pattern=r"^[^\s|\x00-\x1f\x7f]+\Z",
        description="The runner's stable name, without spaces.",
    ),
]
ClaimRevision = Annotated[
    int, Meta(ge=1, le=SEQ_LIMIT, description="The claim_revision that jobs.claim gave; it fences off older claims.")
]
Seq = Annotated[int, Meta(ge=0, le=SEQ_LIMIT)]
Message = Annotated[Text, Meta(min_length=1, max_length=MESSAGE_LIMIT)]
Refs = Annotated[
    list[Annotated[str, Meta(max_length=REF_LIMIT)]],
    Meta(max_length=REFS_LIMIT, description="Stable refs: CARD-…, notes@…, TASK-…, CMD: …, LINK: …, FILE: …"),
]
JobMeta = Annotated[JsonObject, Meta(description="Facts for programs; merged into the job's meta.")]
LeaseTtl = Annotated[
    Annotated[int, Meta(ge=1, le=SEQ_LIMIT)] | None,
    Meta(description="How long the lease should last, in ms; kept within 1 s and 5 min."),
]
Percent = Annotated[Annotated[int, Meta(ge=0, le=100)] | None, Meta(description="How far it is.")]
MaxChars = Annotated[
    Annotated[int, Meta(ge=100, le=1_000_000)] | None,
    Meta(description="At most about this much text; what is left out can be paged."),
]
Limit = Annotated[int, Meta(ge=1, le=PAGE_LIMIT, description="At most this many.")]
StatusName = Literal["QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED"]
ExecutorName = Literal["codex", "claude_code", "gemini", "command"]
ProfileName = Literal["fast", "deep", "audit", "xhigh"]
ArtifactName = Literal["report", "diff", "patch", "bench", "docs_update"]
TaskId = Annotated[
    Annotated[Text, Meta(max_length=40)] | None, Meta(description="The task it is work for, such as TASK-001.")
]
AnchorId = Annotated[
    Annotated[str, Meta(pattern=r"^a:[a-z0-9][a-z0-9-]{0,63}\Z")] | None,
    Meta(description="The area it is about; made when new."),
]


class PolicyAsk(Ask):
    prefer: Annotated[list[ExecutorName], Meta(max_length=8, description="Executors, the best first.")] = []
    forbid: Annotated[list[ExecutorName], Meta(max_length=8, description="Executors that must not do it.")] = []
    min_profile: Annotated[ProfileName | None, Meta(description="The least thorough profile that will do.")] = None


class CreateJob(Ask):
    room_id: RoomId
    title: Annotated[Text, Meta(min_length=1, max_length=TITLE_LIMIT, description="What it is, in one line.")]
    prompt: Annotated[str, Meta(min_length=1, max_length=PROMPT_LIMIT, description="What to do, for the runner.")]
    kind: Annotated[Text, Meta(min_length=1, max_length=KIND_LIMIT, description="A word for its sort.")] = "codex_cli"
    priority: Annotated[PriorityName, Meta(description="Claimed in this order, then the oldest first.")] = (
        PriorityName.MEDIUM
    )
    task: TaskId = None
    anchor: AnchorId = None
    executor: Annotated[
        Literal["codex", "claude_code", "gemini", "command", "auto"],
        Meta(description="Who runs it; `auto` leaves it to whoever claims it."),
    ] = "auto"
    executor_profile: Annotated[ProfileName, Meta(description="How thoroughly.")] = "fast"
    executor_model: Annotated[
        Annotated[str, Meta(max_length=100, pattern=rf"^{MODEL_NAME}\Z")] | None,
        Meta(description="A model for the executor's CLI."),
    ] = None
    policy: Annotated[PolicyAsk | None, Meta(description="For `auto`: preferences and limits.")] = None
    expected_artifacts: Annotated[list[ArtifactName], Meta(max_length=5, description="What should come of it.")] = []
    checks: Annotated[
        list[Annotated[Text, Meta(min_length=1, max_length=REF_LIMIT - 20)]],
        Meta(max_length=CHECKS_LIMIT, description="Commands that must be seen to end with 0 before it is DONE."),
    ] = []
    after: Annotated[
        list[JobId], Meta(max_length=50, description="Jobs that have to be DONE before this one can be claimed.")
    ] = []
    meta: JobMeta = {}


Fmt = Annotated[Literal["json", "lines"], Meta(description="`lines`: as text to read, and nothing else.")]
Moves = Annotated[
    Literal["id", "tool", "step"], Meta(description="How lines name moves: by id, as an MCP tool call, or as marks.")
]


class ListJobs(Ask):
    room_id: RoomId
    status: Annotated[StatusName | None, Meta(description="Only these.")] = None
    task: TaskId = None
    anchor: AnchorId = None
    limit: Limit = 25
    cursor: Annotated[
        Annotated[str, Meta(pattern=r"^[0-9]{1,18}:[0-9]{1,18}\Z")] | None,
        Meta(description="As the last page gave it."),
    ] = None
    max_chars: MaxChars = None
    fmt: Fmt = "json"
    moves: Moves = "id"


class OpenJob(Ask):
    room_id: RoomId
    job: JobId
    include_prompt: Annotated[bool, Meta(description="With the whole prompt.")] = False
    include_events: Annotated[bool, Meta(description="With its newest events.")] = True
    include_meta: Annotated[bool, Meta(description="With its meta.")] = False
    include_artifacts: Annotated[bool, Meta(description="With the list of its artifacts.")] = False
    include_messages: Annotated[bool, Meta(description="With all that the manager said, up to the newest 50.")] = False
    max_events: Annotated[int, Meta(ge=0, le=PAGE_LIMIT, description="At most this many events.")] = 10
    before_seq: Annotated[
        Annotated[int, Meta(ge=1, le=SEQ_LIMIT)] | None, Meta(description="Events before this one.")
    ] = None
    max_chars: MaxChars = None
    fmt: Fmt = "json"
    moves: Moves = "id"


class TailJob(Ask):
    room_id: RoomId
    job: JobId
    after_seq: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="Events after this one.")] = 0
    limit: Limit = 50
    max_chars: MaxChars = None
    fmt: Annotated[Literal["json", "lines"], Meta(description="`lines`: also as text to read.")] = "json"


class ClaimJob(Ask):
    room_id: RoomId
    runner_id: RunnerId
    job: Annotated[JobId | None, Meta(description="Which; the next one that this runner may take when left out.")] = (
        None
    )
    lease_ttl_ms: LeaseTtl = None
    allow_stale: Annotated[bool, Meta(description="Also take over a running job whose claim has run out.")] = False


class HolderAsk(Ask):
    room_id: RoomId
    job: JobId
    runner_id: RunnerId
    claim_revision: ClaimRevision


class ResumePointAsk(Ask):
    """Where a job stands after a slice, for whoever goes on with it."""

    summary: Annotated[Text, Meta(max_length=RESUME_LIMIT, description="What the slices so far said, the newest last.")]
    refs: Refs = []
    failures: Annotated[int, Meta(ge=0, le=10_000, description="Slices in a row that gave no answer.")] = 0
    gates: Annotated[int, Meta(ge=0, le=10_000, description="Times in a row that it said DONE without proof.")] = 0
    seconds: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="How long it has been worked on.")] = 0


EventSeq = Annotated[int, Meta(ge=1, le=SEQ_LIMIT)]


class ReportJob(HolderAsk):
    message: Annotated[Message, Meta(description="What happened, in a line or two.")]
    kind: Annotated[
        Text,
        Meta(
            min_length=1,
            max_length=EVENT_KIND_LIMIT,
            description="progress, checkpoint, question, heartbeat, error, proof_gate, slice, or a word of your own.",
        ),
    ] = "progress"
    percent: Percent = None
    refs: Refs = []
    observed: Observed = []
    meta: JobMeta = {}
    slice: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)] | None, Meta(description="The number of the slice that it is about.")
    ] = None
    resume: Annotated[ResumePointAsk | None, Meta(description="Where the next slice goes on, whoever runs it.")] = None
    delivered_seq: Annotated[
        EventSeq | None, Meta(description="The newest message of the manager that the agent was given.")
    ] = None
    read_seq: Annotated[
        EventSeq | None, Meta(description="The newest that the agent has acted on; it need not be told again.")
    ] = None
    lease_ttl_ms: LeaseTtl = None


class ReleaseJob(HolderAsk):
    reason: Annotated[
        Annotated[Text, Meta(max_length=MESSAGE_LIMIT - 20)] | None, Meta(description="Why; it is kept.")
    ] = None
    answer_wait_s: Annotated[
        int,
        Meta(ge=0, le=604_800, description="With a question open: nobody takes it before the answer, or this long."),
    ] = 900


class MessageJob(Ask):
    room_id: RoomId
    job: JobId
    message: Annotated[Message, Meta(description="An instruction or an answer for whoever runs the job.")]
    refs: Refs = []
    fmt: Fmt = "json"
    moves: Moves = "id"


class CompleteJob(HolderAsk):
    status: Annotated[Literal["DONE", "FAILED", "CANCELED"], Meta(description="How it ended.")]
    summary: Annotated[
        Annotated[Text, Meta(max_length=SUMMARY_LIMIT)] | None,
        Meta(description="What changed, what was verified, what is open."),
    ] = None
    refs: Refs = []
    observed: Observed = []
    files: Annotated[
        list[FileAsk], Meta(max_length=REFS_LIMIT, description="Files as you measured them where the job worked.")
    ] = []
    branch: Annotated[BranchAsk | None, Meta(description="The branch that holds the work, if it has its own.")] = None
    heard_seq: Annotated[
        Seq | None,
        Meta(description="The newest message of the manager that the agent had; a newer one keeps the job going."),
    ] = None
    meta: JobMeta = {}


class WaiveProof(Ask):
    room_id: RoomId
    job: JobId
    reason: Annotated[
        Text, Meta(min_length=1, max_length=MESSAGE_LIMIT, description="Why this job needs no proof; it is kept.")
    ]


class RequeueJob(Ask):
    room_id: RoomId
    job: JobId
    reason: Annotated[
        Annotated[Text, Meta(max_length=MESSAGE_LIMIT - 20)] | None, Meta(description="Why; it is kept.")
    ] = None
    refs: Refs = []
    meta: JobMeta = {}


class AcknowledgeJob(Ask):
    room_id: RoomId
    job: Annotated[JobId | None, Meta(description="Which; all that have failed when left out.")] = None
    reason: Annotated[
        Annotated[Text, Meta(max_length=MESSAGE_LIMIT - 20)] | None, Meta(description="What became of it; it is kept.")
    ] = None


class CancelJob(Ask):
    room_id: RoomId
    job: JobId
    reason: Annotated[
        Annotated[Text, Meta(max_length=MESSAGE_LIMIT - 20)] | None, Meta(description="Why; it is kept.")
    ] = None
    force_running: Annotated[bool, Meta(description="Also when it runs; its runner learns it at its next report.")] = (
        False
    )
    expected_revision: Annotated[Seq | None, Meta(description="Refuse if it has moved on.")] = None


class WaitJob(Ask):
    room_id: RoomId
    job: JobId
    after_seq: Annotated[Seq | None, Meta(description="With until=event: after this one.")] = None
    until: Annotated[Literal["done", "event"], Meta(description="The end of the job, or just something new.")] = "done"
    max_events: Annotated[int, Meta(ge=0, le=PAGE_LIMIT, description="At most this many events.")] = 10
    max_wait_ms: WaitMs = 20_000


class ReplayJobs(Replay):
    limit: Annotated[int, Meta(ge=1, le=1000, description="At most this many; `count` says how many there were.")] = 100


class ShowRadar(Ask):
    reaches = {"reply_job": Reach.WORK, "reply_message": Reach.WORK, "reply_refs": Reach.WORK}

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
    ] = STALL_S
    reply_job: Annotated[JobId | None, Meta(description="Answer this job's question; with reply_message.")] = None
    reply_message: Annotated[Message | None, Meta(description="The answer.")] = None
    reply_refs: Refs = []
    max_chars: MaxChars = None
    fmt: Fmt = "json"
    moves: Moves = "id"
    since_seq: Annotated[Seq | None, Meta(description="With max_wait_ms: wait for something after this cursor.")] = None
    max_wait_ms: Annotated[WaitMs, Meta(description="How long to wait for something new, in ms.")] = 0


ArtifactKey = Annotated[
    str,
    Meta(
        max_length=ARTIFACT_KEY_LIMIT, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z", description="Its name within the job."
    ),
]


class PutArtifact(HolderAsk):
    artifact_key: ArtifactKey
    content: Annotated[str, Meta(min_length=1, max_length=ARTIFACT_LIMIT, description="The text itself.")]


class GetArtifact(Ask):
    room_id: RoomId
    job: JobId
    artifact_key: ArtifactKey
    offset: Annotated[int, Meta(ge=0, le=ARTIFACT_LIMIT, description="From this character on.")] = 0
    max_chars: Annotated[int, Meta(ge=1, le=ARTIFACT_LIMIT, description="At most this many characters.")] = 16_000


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


class ShowExecutors(Ask):
    room_id: RoomId


class SetExecutors(Ask):
    room_id: RoomId
    profile: Annotated[ProfileName, Meta(description="How thoroughly a job is to be done.")]
    executors: Annotated[
        list[ExecutorName], Meta(min_length=1, max_length=8, description="Those that suit it, the best first.")
    ]


class ListRunners(Ask):
    room_id: RoomId
    status: Annotated[RunnerState | None, Meta(description="Only these.")] = None
    limit: Limit = 50
