"""Inputs and results of `tasks.*`, `cards.*` and `anchors.*`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tallystick.capabilities.tasks.model import Anchor, Card, Step, Task
from tallystick.kernel.operation import Answer, Ask, Moment
from tallystick.ledger.contract import SEQ_LIMIT, RoomId, Text

TEXT_LIMIT = 16_384
BODY_LIMIT = 64 * 1024

TaskId = Annotated[Text, Field(max_length=40, description="Such as TASK-001.")]
CardId = Annotated[Text, Field(max_length=40, description="Such as CARD-001.")]
AnchorId = Annotated[
    str, Field(pattern=r"^a:[a-z0-9][a-z0-9-]{0,63}$", description="Such as a:parser: an area of the work, not a path.")
]
Title = Annotated[Text, Field(min_length=1, max_length=200, description="What it is, in one line.")]
Line = Annotated[Text, Field(min_length=1, max_length=1000)]
Lines = Annotated[list[Line], Field(max_length=50)]
Refs = Annotated[list[Annotated[str, Field(max_length=128)]], Field(max_length=32, description="What it points at.")]
Tag = Annotated[Text, Field(min_length=1, max_length=80)]
Tags = Annotated[list[Tag], Field(max_length=20, description="Words to find it by; an anchor is one too.")]
Paths = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=1024)]],
    Field(max_length=100, description="Files and folders it is about, relative to the room's root."),
]
Status = Annotated[Literal["ready", "running", "blocked", "done", "canceled"], Field(description="Where it stands.")]
Assignee = Annotated[Text | None, Field(max_length=200, description="The agent that works on it.")]
Revision = Annotated[int | None, Field(ge=1, le=SEQ_LIMIT, description="Refuse if it has moved on since.")]
Limit = Annotated[int, Field(ge=1, le=200, description="At most this many.")]
CardType = Annotated[
    Text, Field(min_length=1, max_length=32, description="decision, evidence, test, frame, update, report, note, …")
]


class StepAsk(Ask):
    text: Line
    done: bool = False


class CreateTask(Ask):
    room_id: RoomId
    title: Title
    description: Annotated[str, Field(max_length=TEXT_LIMIT, description="What it is about.")] = ""
    definition_of_done: Annotated[Lines, Field(description="What has to be true in the end.")] = []
    steps: Annotated[list[StepAsk], Field(max_length=50, description="What to verify, one by one.")] = []
    status: Status = "ready"
    assignee: Assignee = None
    anchor: Annotated[AnchorId | None, Field(description="The area it is about.")] = None
    paths: Paths = []
    refs: Refs = []
    focus: Annotated[bool, Field(description="Also make it the task that you are at.")] = False


class UpdateTask(Ask):
    """Only what is given changes."""

    room_id: RoomId
    task: TaskId
    title: Annotated[Title | None, Field(description="Its new title.")] = None
    description: Annotated[str | None, Field(max_length=TEXT_LIMIT, description="What it is about.")] = None
    definition_of_done: Annotated[Lines | None, Field(description="When it is done, all lines of it.")] = None
    steps: Annotated[list[StepAsk] | None, Field(max_length=50, description="All of them, as they are now.")] = None
    status: Annotated[Status | None, Field(description="Where it stands now.")] = None
    assignee: Assignee = None
    anchor: Annotated[AnchorId | None, Field(description="The area it is about.")] = None
    paths: Annotated[Paths | None, Field(description="The files it touches, all of them.")] = None
    refs: Annotated[Refs | None, Field(description="What it points at, all of it.")] = None
    summary: Annotated[str | None, Field(max_length=TEXT_LIMIT, description="What came of it.")] = None
    expected_revision: Revision = None


class TaskView(Answer):
    task_id: str
    revision: int
    status: Status
    title: str
    description: str
    definition_of_done: list[str]
    steps: list[Step]
    assignee: str | None
    anchor: str | None
    paths: list[str]
    refs: list[str]
    summary: str | None
    created_by: str
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, task: Task) -> TaskView:
        return cls(
            task_id=task.task_id,
            revision=task.revision,
            status=task.status.value,
            title=task.title,
            description=task.details.description,
            definition_of_done=task.details.definition_of_done,
            steps=task.details.steps,
            assignee=task.assignee,
            anchor=task.anchor_id,
            paths=task.details.paths,
            refs=task.details.refs,
            summary=task.details.summary,
            created_by=task.created_by,
            created_at=task.created_at,
            updated_at=task.updated_at,
        )


class ListTasks(Ask):
    room_id: RoomId
    status: Annotated[Status | None, Field(description="Only those.")] = None
    assignee: Assignee = None
    anchor: Annotated[AnchorId | None, Field(description="Only those about this area.")] = None
    before_seq: Annotated[int | None, Field(ge=1, le=SEQ_LIMIT, description="As the last page's cursor says.")] = None
    limit: Limit = 25


class Tasks(Answer):
    tasks: list[TaskView]
    """The most recently changed first."""
    has_more: bool
    cursor: int | None
    """Pass it as before_seq to page on."""


class ShowTask(Ask):
    room_id: RoomId
    task: TaskId


class FocusTask(Ask):
    room_id: RoomId
    task: Annotated[TaskId | None, Field(description="The task that you are at; none when left out.")] = None


class Focused(Answer):
    task: TaskView | None


class CreateCard(Ask):
    room_id: RoomId
    title: Title
    body: Annotated[Text, Field(max_length=BODY_LIMIT, description="The finding itself, as Markdown.")] = ""
    type: CardType = "note"
    tags: Tags = []
    refs: Refs = []
    pinned: Annotated[bool, Field(description="Shown before all others.")] = False


class UpdateCard(Ask):
    """Only what is given changes."""

    room_id: RoomId
    card: CardId
    title: Annotated[Title | None, Field(description="Its new title.")] = None
    body: Annotated[Text | None, Field(max_length=BODY_LIMIT, description="Its new text.")] = None
    type: Annotated[CardType | None, Field(description="What sort of card it is.")] = None
    tags: Annotated[Tags | None, Field(description="All its tags.")] = None
    refs: Annotated[Refs | None, Field(description="What it points at, all of it.")] = None
    pinned: Annotated[bool | None, Field(description="Whether it stands first.")] = None
    expected_revision: Revision = None


class CardView(Answer):
    card_id: str
    revision: int
    title: str
    body: str
    type: str
    tags: list[str]
    refs: list[str]
    pinned: bool
    created_by: str
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, card: Card) -> CardView:
        return cls.model_validate({name: getattr(card, name) for name in cls.model_fields})


class ListCards(Ask):
    room_id: RoomId
    tag: Annotated[Tag | None, Field(description="Only those with this tag or anchor.")] = None
    type: Annotated[CardType | None, Field(description="Only those.")] = None
    pinned: Annotated[bool, Field(description="Only pinned ones.")] = False
    limit: Limit = 25


class Cards(Answer):
    cards: list[CardView]
    """Pinned ones first, then the most recently changed."""
    has_more: bool


class ShowCard(Ask):
    room_id: RoomId
    card: CardId


class CreateAnchor(Ask):
    room_id: RoomId
    anchor: AnchorId
    title: Annotated[Text, Field(max_length=200, description="What the area is.")] = ""
    paths: Paths = []


class UpdateAnchor(Ask):
    """Only what is given changes."""

    room_id: RoomId
    anchor: AnchorId
    title: Annotated[Text | None, Field(max_length=200, description="Its new title.")] = None
    paths: Annotated[Paths | None, Field(description="The places it covers, all of them.")] = None


class AnchorView(Answer):
    anchor_id: str
    title: str
    paths: list[str]
    created_by: str
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, anchor: Anchor) -> AnchorView:
        return cls.model_validate({name: getattr(anchor, name) for name in cls.model_fields})


class ListAnchors(Ask):
    room_id: RoomId
    after: Annotated[Text, Field(max_length=80, description="Those after this one.")] = ""
    limit: Limit = 50


class Anchors(Answer):
    anchors: list[AnchorView]
    has_more: bool


class ShowAnchor(Ask):
    room_id: RoomId
    anchor: AnchorId
    limit: Annotated[int, Field(ge=1, le=50, description="At most this many tasks and cards.")] = 10


class AnchorSnapshot(Answer):
    anchor: AnchorView
    tasks: list[TaskView]
    cards: list[CardView]
