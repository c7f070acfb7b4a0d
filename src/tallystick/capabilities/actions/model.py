"""An action, the lane it travels in, and what its target has said about it so far."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from tallystick.capabilities.actions.events import (
    ActionResultReported,
    ActionStatus,
    ActionType,
    ControlCommand,
)
from tallystick.capabilities.messages.events import MessageKind, MessageSent
from tallystick.kernel.envelope import Event


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
        return msgspec.convert(row, cls, strict=False)

    @property
    def answered(self) -> bool:
        return self.status is not None


class AttachedProgram(msgspec.Struct, frozen=True, kw_only=True):
    """An attached agent, as the ledger has it."""

    agent_id: str
    program: str
    away: bool
    """Whether it said that it goes away."""

    @classmethod
    def of_row(cls, *, agent_id: str, program: str, away: int) -> AttachedProgram:
        return cls(agent_id=agent_id, program=program, away=bool(away))


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
    result: ActionResultReported | None
    reply: MessageSent | None
