"""What the ledger says of tasks, cards and anchors. What an update leaves out stays as it was."""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, UnsetType, field

from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import Record


class TaskState(StrEnum):
    """`ready`, `running`, `blocked` and `done` are the bus's own; `canceled` is for what will not be done."""

    READY = "ready"
    RUNNING = "running"
    BLOCKED = "blocked"
    DONE = "done"
    CANCELED = "canceled"


class TaskStep(Record):
    """One thing to verify before the task counts as done."""

    text: str
    done: bool = False


class TaskCreated(Body, kind="x.tally.task.create"):
    """A task was written down."""

    task_id: str
    number: int
    title: str
    description: str = ""
    definition_of_done: list[str] = field(default_factory=list[str])
    steps: list[TaskStep] = field(default_factory=list[TaskStep])
    status: TaskState = TaskState.READY
    assignee: str | None = None
    anchor: str | None = None
    paths: list[str] = field(default_factory=list[str])
    refs: list[str] = field(default_factory=list[str])


class TaskUpdated(Body, kind="x.tally.task.update"):
    """A task was changed."""

    task_id: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    definition_of_done: list[str] | UnsetType = UNSET
    steps: list[TaskStep] | UnsetType = UNSET
    status: TaskState | UnsetType = UNSET
    assignee: str | None | UnsetType = UNSET
    anchor: str | None | UnsetType = UNSET
    paths: list[str] | UnsetType = UNSET
    refs: list[str] | UnsetType = UNSET
    summary: str | None | UnsetType = UNSET


class TaskFocused(Body, kind="x.tally.task.focus"):
    """Its author is at this task from now on, or at none."""

    task_id: str | None


class CardCreated(Body, kind="x.tally.card.create"):
    """A finding was kept."""

    card_id: str
    number: int
    title: str
    body: str
    type: str
    tags: list[str]
    refs: list[str]
    pinned: bool


class CardUpdated(Body, kind="x.tally.card.update"):
    """A card was changed."""

    card_id: str
    title: str | UnsetType = UNSET
    body: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    refs: list[str] | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET


class AnchorCreated(Body, kind="x.tally.anchor.create"):
    """An area of the work got a name."""

    anchor_id: str
    title: str = ""
    paths: list[str] = field(default_factory=list[str])


class AnchorUpdated(Body, kind="x.tally.anchor.update"):
    """An anchor was changed."""

    anchor_id: str
    title: str | UnsetType = UNSET
    paths: list[str] | UnsetType = UNSET
