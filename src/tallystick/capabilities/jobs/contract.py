"""What `jobs.*` take: the fields of the job protocol."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tallystick.capabilities.jobs.fields import (
    AnchorId,
    ArtifactName,
    ClaimRevision,
    ExecutorName,
    JobId,
    JobMeta,
    LeaseTtl,
    Limit,
    MaxChars,
    Message,
    Percent,
    PriorityName,
    ProfileName,
    Refs,
    RunnerId,
    StatusName,
    TaskId,
)
from tallystick.kernel.operation import Ask
from tallystick.ledger.contract import SEQ_LIMIT, Replay, RoomId, Text, WaitMs
from tallystick.proof import limits


class PolicyAsk(Ask):
    prefer: Annotated[list[ExecutorName], Meta(max_length=8, description="Executors, the best first.")] = []
    forbid: Annotated[list[ExecutorName], Meta(max_length=8, description="Executors that must not do it.")] = []
    min_profile: Annotated[ProfileName | None, Meta(description="The least thorough profile that will do.")] = None


class CreateJob(Ask):
    room_id: RoomId
    title: Annotated[Text, Meta(min_length=1, max_length=limits.TITLE, description="What it is, in one line.")]
    prompt: Annotated[str, Meta(min_length=1, max_length=limits.PROMPT, description="What to do, for the runner.")]
    kind: Annotated[Text, Meta(min_length=1, max_length=limits.KIND, description="A word for its sort.")] = "codex_cli"
    priority: Annotated[PriorityName, Meta(description="Claimed in this order, then the oldest first.")] = (
        PriorityName.MEDIUM
    )
    task: TaskId = None
    anchor: AnchorId = None
    executor: Annotated[ExecutorName | Literal["auto"], Meta(description="Who runs it; `auto` routes it.")] = "auto"
    executor_profile: Annotated[ProfileName, Meta(description="How thoroughly.")] = "fast"
    executor_model: Annotated[
        Annotated[str, Meta(max_length=100)] | None, Meta(description="A model for the executor's CLI.")
    ] = None
    policy: Annotated[PolicyAsk | None, Meta(description="For `auto`: preferences and limits.")] = None
    expected_artifacts: Annotated[list[ArtifactName], Meta(max_length=5, description="What should come of it.")] = []
    after: Annotated[
        list[JobId], Meta(max_length=50, description="Jobs that have to be DONE before this one can be claimed.")
    ] = []
    meta: JobMeta = {}


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


class OpenJob(Ask):
    room_id: RoomId
    job: JobId
    include_prompt: Annotated[bool, Meta(description="With the whole prompt.")] = False
    include_events: Annotated[bool, Meta(description="With its newest events.")] = True
    include_meta: Annotated[bool, Meta(description="With its meta.")] = False
    include_artifacts: Annotated[bool, Meta(description="With the list of its artifacts.")] = False
    max_events: Annotated[int, Meta(ge=0, le=limits.PAGE, description="At most this many events.")] = 10
    before_seq: Annotated[
        Annotated[int, Meta(ge=1, le=SEQ_LIMIT)] | None, Meta(description="Events before this one.")
    ] = None
    max_chars: MaxChars = None


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


class ReportJob(HolderAsk):
    message: Annotated[Message, Meta(description="What happened, in a line or two.")]
    kind: Annotated[
        Text,
        Meta(
            min_length=1,
            max_length=limits.EVENT_KIND,
            description="progress, checkpoint, question, heartbeat, error, proof_gate, slice, or a word of your own.",
        ),
    ] = "progress"
    percent: Percent = None
    refs: Refs = []
    meta: JobMeta = {}
    lease_ttl_ms: LeaseTtl = None


class MessageJob(Ask):
    room_id: RoomId
    job: JobId
    message: Annotated[Message, Meta(description="An instruction or an answer for whoever runs the job.")]
    refs: Refs = []


class CompleteJob(HolderAsk):
    status: Annotated[Literal["DONE", "FAILED", "CANCELED"], Meta(description="How it ended.")]
    summary: Annotated[
        Annotated[Text, Meta(max_length=limits.SUMMARY)] | None,
        Meta(description="What changed, what was verified, what is open."),
    ] = None
    refs: Refs = []
    meta: JobMeta = {}


class RequeueJob(Ask):
    room_id: RoomId
    job: JobId
    reason: Annotated[
        Annotated[Text, Meta(max_length=limits.MESSAGE - 20)] | None, Meta(description="Why; it is kept.")
    ] = None
    refs: Refs = []
    meta: JobMeta = {}


class CancelJob(Ask):
    room_id: RoomId
    job: JobId
    reason: Annotated[
        Annotated[Text, Meta(max_length=limits.MESSAGE - 20)] | None, Meta(description="Why; it is kept.")
    ] = None
    force_running: Annotated[bool, Meta(description="Also when it runs; its runner learns it at its next report.")] = (
        False
    )
    expected_revision: Annotated[
        Annotated[int, Meta(ge=0, le=SEQ_LIMIT)] | None, Meta(description="Refuse if it has moved on.")
    ] = None


class WaitJob(Ask):
    room_id: RoomId
    job: JobId
    after_seq: Annotated[
        Annotated[int, Meta(ge=0, le=SEQ_LIMIT)] | None, Meta(description="With until=event: after this one.")
    ] = None
    until: Annotated[Literal["done", "event"], Meta(description="The end of the job, or just something new.")] = "done"
    max_events: Annotated[int, Meta(ge=0, le=limits.PAGE, description="At most this many events.")] = 10
    max_wait_ms: WaitMs = 20_000


class ReplayJobs(Replay):
    limit: Annotated[int, Meta(ge=1, le=1000, description="At most this many; `count` says how many there were.")] = 100
