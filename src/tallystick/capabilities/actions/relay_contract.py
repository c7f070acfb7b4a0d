"""Inputs and results of `actions.relay` and `actions.outcomes`, in the words of Weave's relay output."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from tallystick.capabilities.actions.contract import GROUP_LIMIT, TEXT_LIMIT, Id, Placed, Plan, Target
from tallystick.capabilities.actions.model import Command, Outcome, Status
from tallystick.kernel.operation import Answer, Ask, JsonObject
from tallystick.ledger.contract import RoomId, Text, WaitMs


class RelayMessage(Ask, tag_field="type", tag="message"):
    dst: Target
    text: Annotated[str, Meta(min_length=1, max_length=TEXT_LIMIT, description="What you say.")]
    plan: Annotated[Plan | None, Meta(description="How you want it done.")] = None


class RelayControl(Ask, tag_field="type", tag="control"):
    dst: Target
    command: Annotated[Command, Meta(description="new, compact, interrupt or review.")]
    args: Annotated[
        Annotated[str, Meta(max_length=TEXT_LIMIT)] | None, Meta(description="Instructions for a review.")
    ] = None


RelayAction: TypeAlias = RelayMessage | RelayControl


class Done(Ask):
    summary: Annotated[
        Annotated[str, Meta(max_length=16_384)] | None, Meta(description="What came of it, for the user.")
    ] = None


class Relay(Ask):
    room_id: RoomId
    actions: Annotated[
        list[RelayAction], Meta(max_length=GROUP_LIMIT, description="In order; each for one target.")
    ] = []
    done: Annotated[Done | None, Meta(description="Instead of actions: the relay is over.")] = None
    context_id: Annotated[Id | None, Meta(description="The conversation, from the first answer on.")] = None
    task_id: Annotated[Id | None, Meta(description="The task it is about; the conversation when left out.")] = None


class Relayed(Answer):
    room_id: str
    context_id: str
    task_id: str
    group_id: str | None
    """What to ask `actions.outcomes` for; None when the relay is over."""
    actions: list[Placed]
    done: bool


class GroupOutcomes(Ask):
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
    status: Status | None
    """None until the target has said something."""
    detail: str | None
    data: JsonObject | None
    reply: str | None
    """What the target answered, in its own words."""

    @classmethod
    def of(cls, outcome: Outcome) -> OutcomeView:
        said: dict[str, Any] = outcome.result.data if outcome.result else {}
        reply: dict[str, Any] = outcome.reply.data if outcome.reply else {}
        return cls(
            action_id=outcome.action.action_id,
            action_index=outcome.action.action_index,
            dst=outcome.action.dst,
            status=outcome.action.status,
            detail=said.get("detail"),
            data=said.get("data"),
            reply=reply.get("text"),
        )


class Outcomes(Answer):
    group_id: str
    settled: bool
    """Whether every action is finished, or blocked and so yours to decide about."""
    actions: list[OutcomeView]
