"""What `jobs.*` take: the fields of the job protocol."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tallystick.capabilities.jobs.fields import (
    AnchorId,
    ArtifactName,
    ClaimRevision,
    ExecutorName,
    JobId,
    LeaseTtl,
    Limit,
    MaxChars,
    Message,
    Meta,
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
    prefer: Annotated[list[ExecutorName], Field(max_length=8, description="Executors, the best first.")] = []
    forbid: Annotated[list[ExecutorName], Field(max_length=8, description="Executors that must not do it.")] = []
    min_profile: Annotated[ProfileName | None, Field(description="The least thorough profile that will do.")] = None


class CreateJob(Ask):
    room_id: RoomId
    title: Annotated[Text, Field(min_length=1, max_length=limits.TITLE, description="What it is, in one line.")]
    prompt: Annotated[str, Field(min_length=1, max_length=limits.PROMPT, description="What to do, for the runner.")]
    kind: Annotated[Text, Field(min_length=1, max_length=limits.KIND, description="A word for its sort.")] = "codex_cli"
    priority: Annotated[PriorityName, Field(description="Claimed in this order, then the oldest first.")] = "MEDIUM"
    task: TaskId = None
    anchor: AnchorId = None
    executor: Annotated[ExecutorName | Literal["auto"], Field(description="Who runs it; `auto` routes it.")] = "auto"
    executor_profile: Annotated[ProfileName, Field(description="How thoroughly.")] = "fast"
    executor_model: Annotated[str | None, Field(max_length=100, description="A model for the executor's CLI.")] = None
    policy: Annotated[PolicyAsk | None, Field(description="For `auto`: preferences and limits.")] = None
    expected_artifacts: Annotated[list[ArtifactName], Field(max_length=5, description="What should come of it.")] = []
    after: Annotated[
        list[JobId], Field(max_length=50, description="Jobs that have to be DONE before this one can be claimed.")
    ] = []
    meta: Meta = {}


class ListJobs(Ask):
    room_id: RoomId
    status: Annotated[StatusName | None, Field(description="Only these.")] = None
    task: TaskId = None
    anchor: AnchorId = None
    limit: Limit = 25
    cursor: Annotated[str | None, Field(pattern=r"^\d{1,18}:\d{1,18}$", description="As the last page gave it.")] = None
    max_chars: MaxChars = None


class OpenJob(Ask):
    room_id: RoomId
    job: JobId
    include_prompt: Annotated[bool, Field(description="With the whole prompt.")] = False
    include_events: Annotated[bool, Field(description="With its newest events.")] = True
    include_meta: Annotated[bool, Field(description="With its meta.")] = False
    include_artifacts: Annotated[bool, Field(description="With the list of its artifacts.")] = False
    max_events: Annotated[int, Field(ge=0, le=limits.PAGE, description="At most this many events.")] = 10
    before_seq: Annotated[int | None, Field(ge=1, le=SEQ_LIMIT, description="Events before this one.")] = None
    max_chars: MaxChars = None


class TailJob(Ask):
    room_id: RoomId
    job: JobId
    after_seq: Annotated[int, Field(ge=0, le=SEQ_LIMIT, description="Events after this one.")] = 0
    limit: Limit = 50
    max_chars: MaxChars = None
    fmt: Annotated[Literal["json", "lines"], Field(description="`lines`: also as text to read.")] = "json"


class ClaimJob(Ask):
    room_id: RoomId
    runner_id: RunnerId
    job: Annotated[JobId | None, Field(description="Which; the next one that this runner may take when left out.")] = (
        None
    )
    lease_ttl_ms: LeaseTtl = None
    allow_stale: Annotated[bool, Field(description="Also take over a running job whose claim has run out.")] = False


class HolderAsk(Ask):
    room_id: RoomId
    job: JobId
    runner_id: RunnerId
    claim_revision: ClaimRevision


class ReportJob(HolderAsk):
    message: Annotated[Message, Field(description="What happened, in a line or two.")]
    kind: Annotated[
        Text,
        Field(
            min_length=1,
            max_length=limits.EVENT_KIND,
            description="progress, checkpoint, question, heartbeat, error, proof_gate, slice, or a word of your own.",
        ),
    ] = "progress"
    percent: Percent = None
    refs: Refs = []
    meta: Meta = {}
    lease_ttl_ms: LeaseTtl = None


class MessageJob(Ask):
    room_id: RoomId
    job: JobId
    message: Annotated[Message, Field(description="An instruction or an answer for whoever runs the job.")]
    refs: Refs = []


class CompleteJob(HolderAsk):
    status: Annotated[Literal["DONE", "FAILED", "CANCELED"], Field(description="How it ended.")]
    summary: Annotated[
        Text | None, Field(max_length=limits.SUMMARY, description="What changed, what was verified, what is open.")
    ] = None
    refs: Refs = []
    meta: Meta = {}


class RequeueJob(Ask):
    room_id: RoomId
    job: JobId
    reason: Annotated[Text | None, Field(max_length=limits.MESSAGE - 20, description="Why; it is kept.")] = None
    refs: Refs = []
    meta: Meta = {}


class CancelJob(Ask):
    room_id: RoomId
    job: JobId
    reason: Annotated[Text | None, Field(max_length=limits.MESSAGE - 20, description="Why; it is kept.")] = None
    force_running: Annotated[bool, Field(description="Also when it runs; its runner learns it at its next report.")] = (
        False
    )
    expected_revision: Annotated[int | None, Field(ge=0, le=SEQ_LIMIT, description="Refuse if it has moved on.")] = None


class WaitJob(Ask):
    room_id: RoomId
    job: JobId
    after_seq: Annotated[int | None, Field(ge=0, le=SEQ_LIMIT, description="With until=event: after this one.")] = None
    until: Annotated[Literal["done", "event"], Field(description="The end of the job, or just something new.")] = "done"
    max_events: Annotated[int, Field(ge=0, le=limits.PAGE, description="At most this many events.")] = 10
    max_wait_ms: WaitMs = 20_000


class ReplayJobs(Replay):
    limit: Annotated[int, Field(ge=1, le=1000, description="At most this many; `count` says how many there were.")] = (
        100
    )
