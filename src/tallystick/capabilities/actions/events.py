"""What the ledger says of actions: what was asked of whom, and what became of it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, UnsetType, field

from tallystick.capabilities.messages.events import MessageKind
from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import JsonObject, Record


class ActionType(StrEnum):
    MESSAGE = "message"
    CONTROL = "control"


class ControlCommand(StrEnum):
    NEW = "new"
    COMPACT = "compact"
    INTERRUPT = "interrupt"
    REVIEW = "review"


class ActionStatus(StrEnum):
    """What a target says of an action."""

    ACCEPTED = "accepted"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    QUEUED = "queued"
    REJECTED = "rejected"
    ERROR = "error"

    @property
    def terminal(self) -> bool:
        return self in {ActionStatus.COMPLETED, ActionStatus.REJECTED, ActionStatus.ERROR}


class ReportedTaskStatus(StrEnum):
    """What is said of a task among agents."""

    RUNNING = "running"
    BLOCKED = "blocked"
    READY = "ready"
    DONE = "done"


class ActionContext(Record):
    """The conversation that an action belongs to."""

    context_id: str
    owner_id: str
    parent_message_id: str | UnsetType = UNSET


class PlanGiven(Record):
    steps: list[str]
    note: str | UnsetType = UNSET


class ActionSubmitted(Body, kind="x.tally.action.submit"):
    """A message or a control was put into an agent's queue."""

    type: ActionType
    action_id: str
    action_index: int
    group_id: str
    dst: str
    context: ActionContext
    task_id: str | UnsetType = UNSET
    message_kind: MessageKind | UnsetType = field(name="kind", default=UNSET)
    text: str | UnsetType = UNSET
    reply_to_action_id: str | UnsetType = UNSET
    plan: PlanGiven | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    """The message in the target's inbox that says the same."""
    command: ControlCommand | UnsetType = UNSET
    args: str | UnsetType = UNSET


class ActionResultReported(Body, kind="x.tally.action.result"):
    """The target of an action said what became of it."""

    action_id: str
    group_id: str
    action_index: int
    dst: str
    """Who had asked for it."""
    status: ActionStatus
    detail: str | UnsetType = UNSET
    data: JsonObject | UnsetType = UNSET


class AgentAttached(Body, kind="x.tally.action.attach"):
    """From now on what is said to an agent is a request, which it answers."""

    agent_id: str
    program: str


class AgentDetached(Body, kind="x.tally.action.detach"):
    """An attached agent went away for now; requests wait for it."""

    agent_id: str
    reason: str | UnsetType = UNSET


class TaskContext(Record):
    """The conversation that a report on a task names, as far as it does."""

    context_id: str | UnsetType = UNSET
    owner_id: str | UnsetType = UNSET
    parent_message_id: str | UnsetType = UNSET


class _TaskReported(Body):
    task_id: str
    status: ReportedTaskStatus
    detail: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    context: TaskContext | UnsetType = UNSET


class TaskProgressReported(_TaskReported, kind="x.tally.action.task_updated"):
    """Somebody said how a task goes."""


class TaskDoneReported(_TaskReported, kind="x.tally.action.task_done"):
    """Somebody said that a task is done."""
