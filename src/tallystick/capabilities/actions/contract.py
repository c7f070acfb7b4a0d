"""Inputs and results of `actions.*`, in Weave's own fields."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta

from tallystick.capabilities.actions.events import (
    ActionStatus,
    ActionSubmitted,
    ActionType,
    ControlCommand,
    ReportedTaskStatus,
)
from tallystick.capabilities.actions.model import Action, ActionOutcome, SubmittedAction
from tallystick.capabilities.messages.events import MessageKind
from tallystick.kernel.envelope import or_none
from tallystick.kernel.operation import Answer, Ask, JsonObject, Moment, moment
from tallystick.ledger.contract import SEQ_LIMIT, RoomId, Text, WaitMs

TEXT_LIMIT = 64 * 1024
GROUP_LIMIT = 100

Id = Annotated[Text, Meta(min_length=1, max_length=200)]
Target = Annotated[str, Meta(min_length=1, max_length=200, description="The agent it is for, by id or by name.")]
Index = Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="Its place in the group; rises from action to action.")]


class ActionPlan(Ask):
    steps: Annotated[
        list[Annotated[str, Meta(max_length=4096)]], Meta(max_length=100, description="What to do, step by step.")
    ]
    note: Annotated[Annotated[str, Meta(max_length=4096)] | None, Meta(description="What to keep in mind.")] = None


class MessageAction(Ask, tag_field="type", tag="message"):
    dst: Target
    action_id: Annotated[Id, Meta(description="Your own id of it, new in this room.")]
    action_index: Index
    kind: Annotated[MessageKind, Meta(description="`user` asks for something, `reply` answers it.")]
    text: Annotated[str, Meta(min_length=1, max_length=TEXT_LIMIT, description="What you say.")]
    reply_to_action_id: Annotated[Id | None, Meta(description="The action you answer or follow up.")] = None
    plan: Annotated[ActionPlan | None, Meta(description="How you want it done.")] = None


class ControlAction(Ask, tag_field="type", tag="control"):
    dst: Target
    action_id: Annotated[Id, Meta(description="Your own id of it, new in this room.")]
    action_index: Index
    command: Annotated[ControlCommand, Meta(description="new, compact, interrupt or review.")]
    args: Annotated[
        Annotated[str, Meta(max_length=TEXT_LIMIT)] | None, Meta(description="Instructions for a review.")
    ] = None


AnyAction: TypeAlias = MessageAction | ControlAction


class ContextFields(Ask):
    """Which conversation something belongs to."""

    context_id: Annotated[Id | None, Meta(description="The conversation; one of its own when left out.")] = None
    owner_id: Annotated[Id | None, Meta(description="Who owns it: whoever opened it.")] = None
    parent_message_id: Annotated[Id | None, Meta(description="The message it follows.")] = None


class SubmitActions(Ask):
    room_id: RoomId
    group_id: Annotated[Id, Meta(description="Your own id of this group, new in this room.")]
    actions: Annotated[
        list[AnyAction], Meta(min_length=1, max_length=GROUP_LIMIT, description="In order; each for one target.")
    ]
    context: Annotated[ContextFields | None, Meta(description="The conversation they belong to.")] = None
    task_id: Annotated[Id | None, Meta(description="The task they are about.")] = None


class PlacedAction(Answer):
    action_id: str
    action_index: int
    dst: str
    """The target's agent id."""
    seq: int
    """Its place in the room's ledger, and so in the target's queue."""


class SubmitResult(Answer):
    room_id: str
    group_id: str
    context_id: str
    owner_id: str
    actions: list[PlacedAction]


class ReportResult(Ask):
    room_id: RoomId
    action_id: Annotated[Id, Meta(description="The action that was delivered to you.")]
    status: Annotated[
        ActionStatus, Meta(description="accepted, queued or blocked; completed, rejected and error are final.")
    ]
    group_id: Annotated[Id | None, Meta(description="Its group, to be compared.")] = None
    action_index: Annotated[
        Annotated[int, Meta(ge=0, le=SEQ_LIMIT)] | None, Meta(description="Its place there, likewise.")
    ] = None
    detail: Annotated[Annotated[str, Meta(max_length=16_384)] | None, Meta(description="Why, in a sentence.")] = None
    data: Annotated[
        JsonObject | None, Meta(description="Facts, such as new_context_id and new_task_id after `new`.")
    ] = None


class ReportedResult(Answer):
    room_id: str
    group_id: str
    action_id: str
    action_index: int
    status: ActionStatus
    terminal: bool
    seq: int


class ReadPendingActions(Ask):
    room_id: RoomId
    agent_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="Whose; yours when left out.")
    ] = None
    max_wait_ms: Annotated[WaitMs, Meta(description="How long to wait for an action, in ms; 0 looks once.")] = 0


class ActionView(Answer):
    """An action as its target gets it."""

    action_id: str
    group_id: str
    action_index: int
    type: ActionType
    src: str
    dst: str
    kind: MessageKind | None
    text: str | None
    plan: JsonObject | None
    reply_to_action_id: str | None
    command: ControlCommand | None
    args: str | None
    context: dict[str, str]
    task_id: str | None
    message_id: str | None
    """The message in the inbox that says the same."""
    status: ActionStatus | None
    seq: int
    submitted_at: Moment

    @classmethod
    def of(cls, written: SubmittedAction) -> ActionView:
        action, body = written.action, written.event.read(ActionSubmitted)
        return cls(
            action_id=action.action_id,
            group_id=action.group_id,
            action_index=action.action_index,
            type=action.type,
            src=action.src,
            dst=action.dst,
            kind=action.kind,
            text=or_none(body.text),
            plan=body.plan.to_data() if body.plan is not UNSET else None,
            reply_to_action_id=or_none(body.reply_to_action_id),
            command=action.command,
            args=or_none(body.args),
            context=body.context.to_data(),
            task_id=or_none(body.task_id),
            message_id=or_none(body.message_id),
            status=action.status,
            seq=action.seq,
            submitted_at=moment(written.event.ts),
        )


class OpenAction(Answer):
    """An action that is not finished."""

    action_id: str
    group_id: str
    action_index: int
    src: str
    dst: str
    status: ActionStatus | None
    seq: int

    @classmethod
    def of(cls, action: Action) -> OpenAction:
        return cls(
            action_id=action.action_id,
            group_id=action.group_id,
            action_index=action.action_index,
            src=action.src,
            dst=action.dst,
            status=action.status,
            seq=action.seq,
        )


class ActionQueue(Answer):
    agent_id: str
    next: ActionView | None
    """What to do now; it is shown until you have sent a result for it."""
    waiting: int
    """How many are queued, the next one included; 1000 stands for that many or more."""
    open: list[OpenAction]
    """What was answered and is not finished, and what is queued, oldest first."""
    awaited: list[OpenAction]
    """What this agent asked of others and has no final result of."""


class ReportTaskProgress(Ask):
    room_id: RoomId
    task_id: Annotated[Id, Meta(description="The task.")]
    status: Annotated[ReportedTaskStatus, Meta(description="running, blocked, ready or done.")]
    detail: Annotated[
        Annotated[str, Meta(max_length=2000)] | None, Meta(description="What is going on, in a line.")
    ] = None
    summary: Annotated[
        Annotated[str, Meta(max_length=16_384)] | None, Meta(description="What came of it; with done.")
    ] = None
    context: Annotated[ContextFields | None, Meta(description="The conversation it belongs to.")] = None


class TaskProgressResult(Answer):
    room_id: str
    task_id: str
    status: ReportedTaskStatus
    seq: int


class RelayMessageAction(Ask, tag_field="type", tag="message"):
    dst: Target
    text: Annotated[str, Meta(min_length=1, max_length=TEXT_LIMIT, description="What you say.")]
    plan: Annotated[ActionPlan | None, Meta(description="How you want it done.")] = None


class RelayControlAction(Ask, tag_field="type", tag="control"):
    dst: Target
    command: Annotated[ControlCommand, Meta(description="new, compact, interrupt or review.")]
    args: Annotated[
        Annotated[str, Meta(max_length=TEXT_LIMIT)] | None, Meta(description="Instructions for a review.")
    ] = None


RelayAction: TypeAlias = RelayMessageAction | RelayControlAction


class RelayDone(Ask):
    summary: Annotated[
        Annotated[str, Meta(max_length=16_384)] | None, Meta(description="What came of it, for the user.")
    ] = None


class RelayToAgents(Ask):
    room_id: RoomId
    actions: Annotated[
        list[RelayAction], Meta(max_length=GROUP_LIMIT, description="In order; each for one target.")
    ] = []
    done: Annotated[RelayDone | None, Meta(description="Instead of actions: the relay is over.")] = None
    context_id: Annotated[Id | None, Meta(description="The conversation, from the first answer on.")] = None
    task_id: Annotated[Id | None, Meta(description="The task it is about; the conversation when left out.")] = None


class RelayResult(Answer):
    room_id: str
    context_id: str
    task_id: str
    group_id: str | None
    """What to ask `actions.outcomes` for; None when the relay is over."""
    actions: list[PlacedAction]
    done: bool


class AttachAgent(Ask):
    room_id: RoomId
    program: Annotated[str, Meta(min_length=1, max_length=200, description="What answers, such as claude.")]


class DetachAgent(Ask):
    room_id: RoomId
    reason: Annotated[Annotated[str, Meta(max_length=500)] | None, Meta(description="Why, in a few words.")] = None


class AttachmentResult(Answer):
    room_id: str
    agent_id: str
    away: bool


class ReadOutcomes(Ask):
    room_id: RoomId
    group_id: Annotated[Id, Meta(description="The group you submitted or relayed.")]
    agent_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="Whose group; yours when left out.")
    ] = None
    max_wait_ms: Annotated[WaitMs, Meta(description="How long to wait for all of them, in ms; 0 looks once.")] = 0


class OutcomeView(Answer):
    action_id: str
    action_index: int
    dst: str
    status: ActionStatus | None
    """None until the target has said something."""
    detail: str | None
    data: JsonObject | None
    reply: str | None
    """What the target answered, in its own words."""

    @classmethod
    def of(cls, outcome: ActionOutcome) -> OutcomeView:
        result, reply = outcome.result, outcome.reply
        return cls(
            action_id=outcome.action.action_id,
            action_index=outcome.action.action_index,
            dst=outcome.action.dst,
            status=outcome.action.status,
            detail=or_none(result.detail) if result else None,
            data=or_none(result.data) if result else None,
            reply=reply.text if reply else None,
        )


class GroupOutcomes(Answer):
    group_id: str
    settled: bool
    """Whether every action is finished, or blocked and so yours to decide about."""
    actions: list[OutcomeView]
