"""Inputs and results of `permissions.*`, and a request as the rows have it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from tallystick.capabilities.permissions.events import (
    OptionKind,
    PermissionDecision,
    PermissionOption,
    PermissionPolicySet,
    UnansweredDefault,
)
from tallystick.kernel.operation import Answer, Ask, Moment
from tallystick.ledger.contract import SEQ_LIMIT, RoomId, Text, WaitMs

COMMAND_LIMIT = 16 * 1024
DIFF_LIMIT = 64 * 1024

PermissionNumber = Annotated[
    int, Meta(ge=1, le=SEQ_LIMIT, description="The request's number, as it is shown wherever it waits.")
]
Pattern = Annotated[str, Meta(min_length=1, max_length=500)]


class PermissionState(StrEnum):
    OPEN = "open"
    ALLOWED = "allowed"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"


class PermissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    """The number of the event that asked, which names it."""
    agent_id: str
    state: PermissionState
    settled_seq: int | None
    """The event that settled it; a member that leaves settles its own."""

    @classmethod
    def of_row(cls, *, seq: int, agent_id: str, state: str, settled_seq: int | None) -> PermissionRequest:
        return cls(seq=seq, agent_id=agent_id, state=PermissionState(state), settled_seq=settled_seq)


class PolicyVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the policy says to a request."""

    allowed: bool
    rule: str
    """In a sentence that the agent and the people are shown."""


ASK_FOR_EVERYTHING = PermissionPolicySet(default=UnansweredDefault.ASK, allow_commands=[], allow_paths=[], answerers=[])
"""The policy of a room that has set none."""


class OfferedOption(Ask):
    option_id: Annotated[str, Meta(min_length=1, max_length=200, description="The harness's own id of it.")]
    name: Annotated[str, Meta(max_length=500, description="What it says.")]
    kind: Annotated[OptionKind, Meta(description="What choosing it means.")]


class AskPermission(Ask):
    room_id: RoomId
    tool: Annotated[str, Meta(min_length=1, max_length=200, description="The tool that would be used.")]
    title: Annotated[str, Meta(min_length=1, max_length=2000, description="What it would do, in a line.")]
    command: Annotated[
        Annotated[str, Meta(max_length=COMMAND_LIMIT)] | None, Meta(description="The command it would run.")
    ] = None
    paths: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=4096)]],
        Meta(max_length=100, description="What it would change."),
    ] = []
    diff: Annotated[
        Annotated[str, Meta(max_length=DIFF_LIMIT)] | None, Meta(description="How it would change that.")
    ] = None
    options: Annotated[
        list[OfferedOption], Meta(max_length=20, description="The answers that the harness offers.")
    ] = []
    action_id: Annotated[
        Annotated[Text, Meta(min_length=1, max_length=200)] | None, Meta(description="The request you work on.")
    ] = None
    request_id: Annotated[
        Annotated[Text, Meta(min_length=1, max_length=200)] | None,
        Meta(description="Your own name of it: while it is open, asking again under it asks once."),
    ] = None


class AnswerPermission(Ask):
    room_id: RoomId
    permission: PermissionNumber
    decision: Annotated[PermissionDecision, Meta(description="allow or deny.")]
    message: Annotated[
        Annotated[str, Meta(max_length=4096)] | None, Meta(description="What the agent is told, such as what to do.")
    ] = None
    option_id: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(description="One of the offered options; the one for this once when left out."),
    ] = None


class WithdrawPermission(Ask):
    room_id: RoomId
    permission: Annotated[PermissionNumber | None, Meta(description="The request; or give its request_id.")] = None
    request_id: Annotated[
        Annotated[Text, Meta(min_length=1, max_length=200)] | None, Meta(description="Your own name of it.")
    ] = None
    reason: Annotated[str, Meta(min_length=1, max_length=500, description="Why nobody needs to answer it.")]


class ListPermissions(Ask):
    room_id: RoomId
    settled: Annotated[bool, Meta(description="Those that are settled instead, newest first.")] = False
    agent_id: Annotated[
        Annotated[Text, Meta(min_length=1, max_length=200)] | None, Meta(description="Only what this agent asked.")
    ] = None
    limit: Annotated[int, Meta(ge=1, le=200, description="At most this many.")] = 50


class ShowPermission(Ask):
    room_id: RoomId
    permission: PermissionNumber
    max_wait_ms: Annotated[WaitMs, Meta(description="How long to wait until it is settled, in ms; 0 looks once.")] = 0


class SetPermissionPolicy(Ask):
    room_id: RoomId
    default: Annotated[
        UnansweredDefault | None, Meta(description="What becomes of what no list allows: ask or deny.")
    ] = None
    allow_commands: Annotated[
        Annotated[list[Pattern], Meta(max_length=200)] | None,
        Meta(description="Commands that need no asking, word by word: `pytest *`, `git status`."),
    ] = None
    allow_paths: Annotated[
        Annotated[list[Pattern], Meta(max_length=200)] | None,
        Meta(description="Paths of the room that may be edited unasked: `docs/*`."),
    ] = None
    answerers: Annotated[
        Annotated[list[Annotated[Text, Meta(min_length=1, max_length=200)]], Meta(max_length=50)] | None,
        Meta(description="Agents that may answer too, never for themselves."),
    ] = None


class PermissionPolicyView(Answer):
    default: UnansweredDefault
    allow_commands: list[str]
    allow_paths: list[str]
    answerers: list[str]
    summary: str
    """The same in a sentence."""


class PermissionView(Answer):
    """A request for permission and what became of it."""

    room_id: str
    permission: int
    agent_id: str
    tool: str
    title: str
    command: str | None
    paths: list[str]
    diff: str | None
    options: list[PermissionOption]
    action_id: str | None
    request_id: str | None
    asked_at: Moment
    state: PermissionState
    settled_at: Moment | None
    settled_by: str | None
    option_id: str | None
    """Of the offered options, the one that was chosen; None where none of them says what was decided."""
    message: str | None
    """What the agent is told: why, and what to do instead."""
    policy: str | None
    """The rule that decided, where nobody did."""


class PermissionList(Answer):
    room_id: str
    permissions: list[PermissionView]
    """Open ones oldest first, settled ones newest first."""
    open: int
    """How many wait for an answer."""
    may_answer: bool
    """Whether you may answer them."""
    policy: PermissionPolicyView
