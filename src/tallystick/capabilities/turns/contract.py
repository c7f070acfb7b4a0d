"""Inputs and results of `turns.*`: the Talking Stick tools' own fields."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from tallystick.capabilities.agents.contract import MemberView
from tallystick.capabilities.rooms.contract import PROGRAMS, PolicyView
from tallystick.capabilities.rooms.model import RoomState
from tallystick.capabilities.turns.errors import InvalidHandoff
from tallystick.capabilities.turns.events import ClaimReason, Opening
from tallystick.kernel.caller import SessionKind
from tallystick.kernel.errors import InvalidInput
from tallystick.kernel.operation import Answer, Ask, JsonObject, Moment
from tallystick.ledger.contract import SEQ_LIMIT, Envelope, RoomId, WaitMs

TEXT_LIMIT = 16_384

Reason = Annotated[str, Meta(min_length=1, max_length=2000, description="Why; it is kept in the history.")]
LeaseId = Annotated[str, Meta(max_length=200, description="As your_turn gave it.")]
TurnId = Annotated[int, Meta(ge=0, description="The present turn_id.")]


class ArtifactRole(StrEnum):
    EXAMINE = "examine"
    REVIEW = "review"
    EDIT = "edit"
    CONTEXT = "context"
    OUTPUT = "output"


class Artifact(Ask, omit_defaults=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096, description="In the workspace, or absolute.")]
    lines: Annotated[
        Annotated[list[int], Meta(min_length=2, max_length=2)] | None,
        Meta(description="First and last line."),
    ] = None
    role: Annotated[ArtifactRole, Meta(description="What to do with it.")]
    note: Annotated[Annotated[str, Meta(max_length=TEXT_LIMIT)] | None, Meta(description="Why to look there.")] = None


class Handoff(Ask, omit_defaults=True):
    """What the next agent needs to go on without rediscovering it."""

    status: Annotated[str, Meta(max_length=TEXT_LIMIT, description="What I did, what I learned, what is unfinished.")]
    next_action: Annotated[str, Meta(max_length=TEXT_LIMIT, description="What the recipient should do.")]
    artifacts: Annotated[Annotated[list[Artifact], Meta(max_length=100)] | None, Meta(description="Where to look.")] = (
        None
    )
    open_questions: Annotated[
        Annotated[list[Annotated[str, Meta(max_length=TEXT_LIMIT)]], Meta(max_length=50)] | None,
        Meta(description="What is still undecided."),
    ] = None
    do_not: Annotated[
        Annotated[list[Annotated[str, Meta(max_length=TEXT_LIMIT)]], Meta(max_length=50)] | None,
        Meta(description="Off-limits for the next agent."),
    ] = None


class WaitTarget(StrEnum):
    """What a wait can bring."""

    TURN = "turn"
    MESSAGES = "messages"
    NOTIFICATIONS = "notifications"
    ACTIONS = "actions"
    JOBS = "jobs"


class WaitTurn(Ask):
    room_id: RoomId
    cursor: Annotated[
        Annotated[str, Meta(max_length=20, pattern=r"^[0-9]+\Z")] | None,
        Meta(description="Return early on events after this cursor."),
    ] = None
    max_wait_ms: Annotated[WaitMs | None, Meta(description="How long to wait, in ms; 0 looks once.")] = None
    include: Annotated[
        tuple[WaitTarget, ...],
        Meta(min_length=1, max_length=5, description="What to wait for."),
    ] = (WaitTarget.TURN,)


class Mailed(Answer):
    """What the wait brought besides a turn. Only what `include` asked for is there."""

    messages: Annotated[list[Envelope] | UnsetType, Meta(description="Addressed to you, new.")] = UNSET
    notifications: Annotated[list[Envelope] | UnsetType, Meta(description="Likewise.")] = UNSET
    actions: Annotated[
        list[JsonObject] | UnsetType,
        Meta(description="What you are asked to do now, until you send a result for it."),
    ] = UNSET
    jobs: Annotated[list[Envelope] | UnsetType, Meta(description="What jobs ask their manager, until answered.")] = (
        UNSET
    )


class YourTurn(Mailed, tag_field="status", tag="your_turn"):
    room_id: str
    turn_id: int
    lease_id: str
    handoff: JsonObject | None
    from_agent_id: str | None
    reason: ClaimReason
    lease_expired_at: Annotated[
        Moment | UnsetType, Meta(description="Your lease had run out then; it is renewed, since nobody took over.")
    ] = UNSET


class HeldElsewhere(Answer):
    """Another session under your name holds the stick."""

    agent_id: str
    session_id: str
    """What that session calls itself."""
    session_kind: SessionKind | None
    pid: int | None
    lease_expires_at: Moment | None
    """From then on, or when its process ends, your wait says takeover_available."""


class NotYet(Mailed, tag_field="status", tag="not_yet"):
    cursor: str
    room_state: RoomState
    current_owner: Annotated[str | UnsetType, Meta(description="Who holds the stick.")] = UNSET
    reserved_for: Annotated[str | UnsetType, Meta(description="Whom it is kept for.")] = UNSET
    claim_expires_at: Annotated[Moment | UnsetType, Meta(description="Until when it is kept.")] = UNSET
    other_session: Annotated[
        HeldElsewhere | UnsetType, Meta(description="Your name holds it, but in another session than this one.")
    ] = UNSET


class TakeoverAvailable(Mailed, tag_field="status", tag="takeover_available"):
    room_id: str
    turn_id: int
    room_state: RoomState
    reason: Opening
    current_owner: str | None = None
    reserved_for: str | None = None


class Closed(Mailed, tag_field="status", tag="closed"):
    room_id: str


class OwnerAsk(Ask):
    """What every owner mutation carries."""

    room_id: RoomId
    lease_id: LeaseId
    expected_turn_id: TurnId


class RenewTurn(OwnerAsk):
    pass


class RenewTurnResult(Answer):
    status: Literal["ok"] = "ok"
    room_id: str
    turn_id: int
    lease_id: str
    lease_expires_at: Moment


class ReleaseStick(OwnerAsk):
    refusals: ClassVar[dict[str, type[InvalidInput]]] = {"handoff": InvalidHandoff}

    handoff: Annotated[Handoff, Meta(description="What the next agent needs to go on.")]


class ReleaseStickResult(Answer):
    status: Literal["released"] = "released"
    room_id: str
    reserved_for: str | None
    event_seq: int


class PassStick(ReleaseStick):
    to_agent_id: Annotated[str, Meta(max_length=200, description="An active member of the room.")]


class PassStickResult(Answer):
    status: Literal["passed"] = "passed"
    room_id: str
    reserved_for: str
    event_seq: int


class TakeOverStick(Ask):
    room_id: RoomId
    expected_turn_id: TurnId
    reason: Reason


class TakeOverStickResult(Answer):
    status: Literal["your_turn"] = "your_turn"
    room_id: str
    turn_id: int
    lease_id: str
    revoked_agent_id: str | None
    reason: str


class RevokeTurn(Ask):
    room_id: RoomId
    expected_turn_id: TurnId
    reason: Reason


class RevokeTurnResult(Answer):
    status: Literal["revoked"] = "revoked"
    room_id: str
    turn_id: int
    revoked_agent_id: str
    reserved_for: str | None
    event_seq: int


class ShowState(Ask):
    room_id: RoomId
    peek: Annotated[
        bool,
        Meta(description="A program looks, not the agent: a lost turn stays unseen.", extra_json_schema=PROGRAMS),
    ] = False


class TurnState(Answer):
    """A room's stick as everybody may see it; `lease_id` is shown to its holder only."""

    room_id: str
    canonical_path: str
    sequence_index: int
    owner: str | None
    reserved_for: str | None
    pending_handoff_event_seq: int | None
    turn_id: int
    lease_id: str | None
    lease_expires_at: Moment | None
    claim_expires_at: Moment | None
    state: RoomState
    updated_at: Moment
    takeover: Opening | None
    takeover_candidates: list[str]
    next: str | None
    """Whose turn comes next as things are: whom the stick is kept for, or who would get it were it released now."""
    waiting: list[str]
    """Who wants the stick now: whoever waits for it, or did so a moment ago."""
    policy: PolicyView
    cursor: str
    members_here: int
    members_gone: int
    """Who is a member still, and not seen any more: agents.list has them."""
    members: list[MemberView]
    """Who is here, in turn order; of many, who was seen last."""


class FindLostTurn(Ask):
    room_id: RoomId


class LostTurn(Answer):
    """The turn that was taken from the caller; only ids where none was, or where it has looked since."""

    room_id: str
    agent_id: str
    turn_id: int | None = None
    taken_by: str | None = None
    reason: str | None = None


class RoomEvents(Ask):
    room_id: RoomId
    after_event_seq: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="Events after this one.")] = 0
    limit: Annotated[int, Meta(ge=1, le=500, description="At most this many.")] = 100
    newest: Annotated[bool, Meta(description="The latest `limit` instead of the first.")] = False


class StickEvent(Answer):
    event_seq: int
    event_id: str
    room_id: str
    turn_id: int
    event_type: Literal["claim", "release", "pass", "takeover", "revoke", "close"]
    from_agent_id: str | None
    to_agent_id: str | None
    handoff: JsonObject | None
    reason: str | None
    created_at: Moment


class StickEvents(Answer):
    events: list[StickEvent]
    cursor: int
