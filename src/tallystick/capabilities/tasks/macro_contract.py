"""Inputs and results of `tasks.macro.delegate` and `tasks.macro.fanout_jobs`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tallystick.capabilities.tasks.contract import (
    BODY_LIMIT,
    AnchorId,
    CardView,
    Lines,
    Paths,
    Refs,
    StepAsk,
    TaskId,
    TaskView,
    Title,
)
from tallystick.kernel.operation import Answer, Ask
from tallystick.ledger.contract import RoomId, Text

FANOUT_LIMIT = 10
PROMPT_LIMIT = 48_000


class JobKnobs(Ask):
    """How the jobs of a macro are to be run."""

    room_id: RoomId
    job_kind: Annotated[Text, Meta(min_length=1, max_length=64, description="As jobs.create's kind.")] = "codex_cli"
    job_priority: Annotated[str, Meta(max_length=10, description="LOW, MEDIUM or HIGH.")] = "MEDIUM"
    executor: Annotated[str, Meta(max_length=20, description="As jobs.create's executor.")] = "auto"
    executor_profile: Annotated[str, Meta(max_length=20, description="As jobs.create's executor_profile.")] = "fast"


class Delegate(JobKnobs):
    task_title: Title
    description: Annotated[Text, Meta(max_length=16_384, description="What to do and why.")] = ""
    definition_of_done: Annotated[Lines, Meta(description="What has to be true in the end.")] = []
    steps: Annotated[list[StepAsk], Meta(max_length=50, description="What to verify, one by one.")] = []
    anchor: Annotated[AnchorId | None, Meta(description="The area; made from the title when left out.")] = None
    paths: Paths = []
    refs: Refs = []
    cockpit: Annotated[
        Annotated[Text, Meta(max_length=BODY_LIMIT)] | None,
        Meta(description="The text of the pinned card; a short frame if left out."),
    ] = None
    job: Annotated[bool, Meta(description="Also queue a job for it.")] = True


class JobRef(Answer):
    job_id: str
    anchor: str | None
    created_ref: str
    """The event to open first."""


class Delegated(Answer):
    task: TaskView
    anchor_id: str
    card: CardView
    job: JobRef | None


class FanOut(JobKnobs):
    anchors: Annotated[
        list[AnchorId], Meta(min_length=1, max_length=FANOUT_LIMIT, description="One job for each of these areas.")
    ]
    prompt: Annotated[str, Meta(min_length=1, max_length=PROMPT_LIMIT, description="What to do, the same for all.")]
    task: Annotated[TaskId | None, Meta(description="The task it is work for; your focus when left out.")] = None
    title_prefix: Annotated[
        Annotated[Text, Meta(min_length=1, max_length=120)] | None, Meta(description="How the titles begin.")
    ] = None


class FannedOut(Answer):
    task_id: str | None
    jobs: list[JobRef]
    """In the order of their anchors."""
