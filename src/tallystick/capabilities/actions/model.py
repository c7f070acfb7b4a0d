"""An action, the lane it travels in, and what its target has said about it so far."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import cast

import msgspec

from tallystick.kernel.envelope import Event


class Kind(StrEnum):
    """The events of this capability."""

    SUBMIT = "x.tally.action.submit"
    RESULT = "x.tally.action.result"
    TASK_UPDATED = "x.tally.action.task_updated"
    TASK_DONE = "x.tally.action.task_done"


class ActionType(StrEnum):
    MESSAGE = "message"
    CONTROL = "control"


class MessageKind(StrEnum):
    USER = "user"
    REPLY = "reply"


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
    RUNNING = "running"
    BLOCKED = "blocked"
    READY = "ready"
    DONE = "done"


class QueueLane(IntEnum):
    """Each target has two queues: interrupts do not wait for what they are meant to interrupt."""

    ORDINARY = 0
    INTERRUPT = 1


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    context_id: str
    owner_id: str
    exchanges: int = 0
    """How many of its questions were answered."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One thing asked of one target."""

    action_id: str
    seq: int
    """Its place in the room, and so in the target's queue."""
    group_id: str
    action_index: int
    src: str
    dst: str
    type: ActionType
    kind: MessageKind | None
    command: ControlCommand | None
    context_id: str
    lane: QueueLane
    status: ActionStatus | None
    """None until the target has answered: it may be handed over again."""
    released: bool
    """Whether the next one in its lane may be delivered."""
    finished: bool
    replied: bool
    result_seq: int | None = None
    """Where its last result stands on the ledger."""
    reply_seq: int | None = None

    @classmethod
    def of_row(cls, **row: object) -> Action:
        kind, command, status = row["kind"], row["command"], row["status"]
        return cls(
            action_id=cast("str", row["action_id"]),
            seq=cast("int", row["seq"]),
            group_id=cast("str", row["group_id"]),
            action_index=cast("int", row["action_index"]),
            src=cast("str", row["src"]),
            dst=cast("str", row["dst"]),
            type=ActionType(row["type"]),
            kind=MessageKind(kind) if kind else None,
            command=ControlCommand(command) if command else None,
            context_id=cast("str", row["context_id"]),
            lane=QueueLane(cast("int", row["lane"])),
            status=ActionStatus(status) if status else None,
            released=row["released"] == 1,
            finished=row["finished"] == 1,
            replied=row["replied"] == 1,
            result_seq=cast("int | None", row.get("result_seq")),
            reply_seq=cast("int | None", row.get("reply_seq")),
        )

    @property
    def answered(self) -> bool:
        return self.status is not None


class QueueHeads(msgspec.Struct, frozen=True, kw_only=True):
    """The first unreleased action of each of a target's lanes."""

    ordinary: Action | None = None
    interrupt: Action | None = None

    def of(self, lane: QueueLane) -> Action | None:
        return self.interrupt if lane is QueueLane.INTERRUPT else self.ordinary


class SubmittedAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action together with the event that holds its words."""

    action: Action
    event: Event


class ActionOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """An action with the last result and the reply that it got."""

    action: Action
    result: Event | None
    reply: Event | None
