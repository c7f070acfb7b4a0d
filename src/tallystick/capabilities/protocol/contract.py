"""Inputs and results of `protocol.*`, and the kinds of protocol events."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from tallystick.capabilities.agents.events import AgentResumed
from tallystick.capabilities.protocol.events import WorkBlocked, WorkHandedOver
from tallystick.capabilities.reservations.events import IncursionRecorded
from tallystick.capabilities.turns.events import StickPassed, StickReleased
from tallystick.kernel.operation import Answer, Ask, JsonObject, Moment
from tallystick.kernel.scopes import LONGEST
from tallystick.ledger.contract import SEQ_LIMIT, RoomId, Text

VERSION = "v1"


class EventType(StrEnum):
    HANDOFF = "HANDOFF"
    BLOCKED = "BLOCKED"
    INCURSION = "INCURSION"
    RESUME = "RESUME"


ProtocolBody: TypeAlias = WorkHandedOver | WorkBlocked | IncursionRecorded | AgentResumed | StickReleased | StickPassed
"""What the protocol has an envelope for. Handing over the stick is a HANDOFF too."""


TEXT_LIMIT = 16_384

Words = Annotated[str, Meta(max_length=TEXT_LIMIT)] | None


class SendProtocol(Ask):
    room_id: RoomId
    event_type: Annotated[Literal["HANDOFF", "BLOCKED"], Meta(description="What you have to say.")]
    to: Annotated[
        Text, Meta(min_length=1, max_length=200, description="An agent, by id or name, user, @peers, @foreman or @all.")
    ]
    task_id: Annotated[Text, Meta(min_length=1, max_length=200, description="The task it is about.")]
    scope: Annotated[
        Annotated[Text, Meta(max_length=LONGEST)] | None, Meta(description="The path it is about, if any.")
    ] = None
    subject: Annotated[str, Meta(min_length=1, max_length=500, description="One line.")]
    summary: Annotated[Words, Meta(description="HANDOFF: what was done.")] = None
    next_action: Annotated[Words, Meta(description="HANDOFF: what to do next.")] = None
    blocker: Annotated[Words, Meta(description="BLOCKED: what stands in the way.")] = None
    requested_action: Annotated[Words, Meta(description="BLOCKED: what you need.")] = None
    urgency: Annotated[Literal["low", "medium", "high"] | None, Meta(description="BLOCKED: how pressing it is.")] = None
    requires_ack: Annotated[bool, Meta(description="Whether it has to be accepted; BLOCKED always has.")] = True


class ProtocolEvent(Answer):
    """A protocol event in its stable v1 envelope."""

    id: str
    version: Literal["v1"]
    event_type: EventType
    project_root: str
    bead_id: str | None
    """The task it is about."""
    from_agent: str | None
    to_agent: str | None
    """Or whom it was sent to by role: @peers, @foreman, @all."""
    scope: str | None
    created_at: Moment
    payload: JsonObject


class AckView(Answer):
    required: bool
    message_id: str | None
    """The attention message to acknowledge with messages.ack."""
    acked_at: Moment | None
    """When the first of its recipients accepted it."""


class ListedEvent(Answer):
    seq: int
    event: ProtocolEvent
    ack: AckView


class ListProtocol(Ask):
    room_id: RoomId
    task_id: Annotated[Annotated[Text, Meta(max_length=200)] | None, Meta(description="Only about this task.")] = None
    agent_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="Only from or to this agent.")
    ] = None
    event_type: Annotated[EventType | None, Meta(description="Only of this type.")] = None
    after_seq: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="Those after this seq.")] = 0
    limit: Annotated[int, Meta(ge=1, le=500, description="At most this many.")] = 100


class ProtocolEvents(Answer):
    room_id: str
    events: list[ListedEvent]
    cursor: int
    """Pass it as after_seq to go on."""
