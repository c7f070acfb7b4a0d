"""Inputs and results of `tasks.*`, `cards.*` and `anchors.*`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from tallystick.capabilities.tasks.events import TaskStep
from tallystick.capabilities.tasks.model import Anchor, Card, Task
from tallystick.kernel.operation import Answer, Ask, Moment, from_attributes, moment
from tallystick.ledger.contract import SEQ_LIMIT, RoomId, Text

TEXT_LIMIT = 16_384
BODY_LIMIT = 64 * 1024
TaskId = Annotated[Text, Meta(max_length=40, description="Such as TASK-001.")]
CardId = Annotated[Text, Meta(max_length=40, description="Such as CARD-001.")]
AnchorId = Annotated[
    str, Meta(pattern=r"^a:[a-z0-9][a-z0-9-]{0,63}\Z", description="Such as a:parser: an area of the work, not a path.")
]
Title = Annotated[Text, Meta(min_length=1, max_length=200, description="What it is, in one line.")]
Line = Annotated[Text, Meta(min_length=1, max_length=1000)]
Lines = Annotated[list[Line], Meta(max_length=50)]
Refs = Annotated[list[Annotated[str, Meta(max_length=128)]], Meta(max_length=32, description="What it points at.")]
Tag = Annotated[Text, Meta(min_length=1, max_length=80)]
Tags = Annotated[list[Tag], Meta(max_length=20, description="Words to find it by; an anchor is one too.")]
Paths = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=1024)]],
    Meta(max_length=100, description="Files and folders it is about, relative to the room's root."),
]
Status = Annotated[Literal["ready", "running", "blocked", "done", "canceled"], Meta(description="Where it stands.")]
Assignee = Annotated[Annotated[Text, Meta(max_length=200)] | None, Meta(description="The agent that works on it.")]
Revision = Annotated[
    Annotated[int, Meta(ge=1, le=SEQ_LIMIT)] | None, Meta(description="Refuse if it has moved on since.")
]
Limit = Annotated[int, Meta(ge=1, le=200, description="At most this many.")]
CardType = Annotated[
    Text, Meta(min_length=1, max_length=32, description="decision, evidence, test, frame, update, report, note, …")
]


class StepAsk(Ask):
    text: Line
    done: bool = False


class CreateTask(Ask):
    room_id: RoomId
    title: Title
    description: Annotated[str, Meta(max_length=TEXT_LIMIT, description="What it is about.")] = ""
    definition_of_done: Annotated[Lines, Meta(description="What has to be true in the end.")] = []
    steps: Annotated[list[StepAsk], Meta(max_length=50, description="What to verify, one by one.")] = []
    status: Status = "ready"
    assignee: Assignee = None
    anchor: Annotated[AnchorId | None, Meta(description="The area it is about.")] = None
    paths: Paths = []
    refs: Refs = []
    focus: Annotated[bool, Meta(description="Also make it the task that you are at.")] = False


class UpdateTask(Ask):
    """Only what is given changes."""

    room_id: RoomId
    task: TaskId
    title: Annotated[Title | None, Meta(description="Its new title.")] = None
    description: Annotated[
        Annotated[str, Meta(max_length=TEXT_LIMIT)] | None, Meta(description="What it is about.")
    ] = None
    definition_of_done: Annotated[Lines | None, Meta(description="When it is done, all lines of it.")] = None
    steps: Annotated[
        Annotated[list[StepAsk], Meta(max_length=50)] | None, Meta(description="All of them, as they are now.")
    ] = None
    status: Annotated[Status | None, Meta(description="Where it stands now.")] = None
    assignee: Assignee | UnsetType = UNSET
    anchor: Annotated[AnchorId | None | UnsetType, Meta(description="The area it is about.")] = UNSET
    paths: Annotated[Paths | None, Meta(description="The files it touches, all of them.")] = None
    refs: Annotated[Refs | None, Meta(description="What it points at, all of it.")] = None
    summary: Annotated[
        Annotated[str, Meta(max_length=TEXT_LIMIT)] | None | UnsetType, Meta(description="What came of it.")
    ] = UNSET
    expected_revision: Revision = None


class TaskView(Answer):
    task_id: str
    revision: int
    status: Status
    title: str
    description: str
    definition_of_done: list[str]
    steps: list[TaskStep]
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
            created_at=moment(task.created_at),
            updated_at=moment(task.updated_at),
        )


class ListTasks(Ask):
    room_id: RoomId
    status: Annotated[Status | None, Meta(description="Only those.")] = None
    assignee: Assignee = None
    anchor: Annotated[AnchorId | None, Meta(description="Only those about this area.")] = None
    before_seq: Annotated[
        Annotated[int, Meta(ge=1, le=SEQ_LIMIT)] | None, Meta(description="As the last page's cursor says.")
    ] = None
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
    task: Annotated[TaskId | None, Meta(description="The task that you are at; none when left out.")] = None


class Focused(Answer):
    task: TaskView | None


class CreateCard(Ask):
    room_id: RoomId
    title: Title
    body: Annotated[Text, Meta(max_length=BODY_LIMIT, description="The finding itself, as Markdown.")] = ""
    type: CardType = "note"
    tags: Tags = []
    refs: Refs = []
    pinned: Annotated[bool, Meta(description="Shown before all others.")] = False


class UpdateCard(Ask):
    """Only what is given changes."""

    room_id: RoomId
    card: CardId
    title: Annotated[Title | None, Meta(description="Its new title.")] = None
    body: Annotated[Annotated[Text, Meta(max_length=BODY_LIMIT)] | None, Meta(description="Its new text.")] = None
    type: Annotated[CardType | None, Meta(description="What sort of card it is.")] = None
    tags: Annotated[Tags | None, Meta(description="All its tags.")] = None
    refs: Annotated[Refs | None, Meta(description="What it points at, all of it.")] = None
    pinned: Annotated[bool | None, Meta(description="Whether it stands first.")] = None
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
        return from_attributes(cls, card)


class ListCards(Ask):
    room_id: RoomId
    tag: Annotated[Tag | None, Meta(description="Only those with this tag or anchor.")] = None
    type: Annotated[CardType | None, Meta(description="Only those.")] = None
    pinned: Annotated[bool, Meta(description="Only pinned ones.")] = False
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
    title: Annotated[Text, Meta(max_length=200, description="What the area is.")] = ""
    paths: Paths = []


class UpdateAnchor(Ask):
    """Only what is given changes."""

    room_id: RoomId
    anchor: AnchorId
    title: Annotated[Annotated[Text, Meta(max_length=200)] | None, Meta(description="Its new title.")] = None
    paths: Annotated[Paths | None, Meta(description="The places it covers, all of them.")] = None


class AnchorView(Answer):
    anchor_id: str
    title: str
    paths: list[str]
    created_by: str
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, anchor: Anchor) -> AnchorView:
        return from_attributes(cls, anchor)


class ListAnchors(Ask):
    room_id: RoomId
    after: Annotated[Text, Meta(max_length=80, description="Those after this one.")] = ""
    limit: Limit = 50


class Anchors(Answer):
    anchors: list[AnchorView]
    has_more: bool


class ShowAnchor(Ask):
    room_id: RoomId
    anchor: AnchorId
    limit: Annotated[int, Meta(ge=1, le=50, description="At most this many tasks and cards.")] = 10


class AnchorSnapshot(Answer):
    anchor: AnchorView
    tasks: list[TaskView]
    cards: list[CardView]


class ShowSnapshot(Ask):
    room_id: RoomId
    task: Annotated[TaskId | None, Meta(description="Which task; the one in your focus when left out.")] = None


class JobCountsView(Answer):
    running: int
    queued: int
    """Both are counted up to 100."""
    runner: str
    """offline, idle or live."""


class JobToken(Answer):
    job_id: str
    status: str
    marker: str
    """What it asks of its manager, as in the radar: `?` an answer, `!` a look; empty when nothing."""
    ref: str
    title: str


class TaskSnapshot(Answer):
    task: TaskView | None
    inbox: JobCountsView
    job: JobToken | None
    """The one active job of the task that most needs to be seen."""
    cards: list[CardView]
    """The pinned ones under the task's anchor, else the room's."""
    text: str
    """All of it in a few lines."""


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


class MergeReport(Ask):
    room_id: RoomId
    jobs: Annotated[
        list[Annotated[Text, Meta(max_length=40)]], Meta(min_length=1, max_length=50, description="JOB-… ids.")
    ]
    task: Annotated[TaskId | None, Meta(description="The task they were for; your focus when left out.")] = None
    title: Annotated[Title | None, Meta(description="The card's title.")] = None
    pin: Annotated[bool, Meta(description="Show it before all other cards.")] = True


class Merged(Answer):
    card: CardView
    changed: bool
    """False when the very same report was there already."""
    missing_proof: list[str]
    """The jobs that prove nothing yet."""
