"""Inputs and results of `rooms.*` and `notes.*`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, structs

from tallystick.capabilities.agents.contract import MemberView
from tallystick.capabilities.rooms.model import MINUTE, Policy, ProofPolicy, RoomMode, RoomState
from tallystick.kernel.operation import Answer, Ask, JsonObject, Moment
from tallystick.ledger.contract import SEQ_LIMIT, WAIT_LIMIT_MS, RoomId, Text

NOTE_LIMIT = 16_384
PROGRAMS: dict[str, object] = {"x-not-for-models": True}
"""Of a field that programs and tests set: the tools that a model sees leave it out."""
DAY = 24 * 60 * MINUTE

ContextPath = Annotated[
    str, Meta(max_length=4096, description="An absolute path in the workspace; a file stands for its folder.")
]


class PolicyView(Answer):
    """The effective policy of a room, times in milliseconds."""

    owner_lease_ttl_ms: int
    heartbeat_interval_ms: int
    claim_ttl_ms: int
    wait_for_turn_max_wait_ms: int
    wait_for_turn_poll_ms: int
    presence_ttl_ms: int
    ack_overdue_ms: int
    proof: ProofPolicy
    """Whether a job is DONE only with evidence, or also with what is claimed."""
    mode: RoomMode
    """Whether agents change things one at a time, or side by side by what each has reserved."""

    @classmethod
    def of(cls, policy: Policy) -> PolicyView:
        return cls(**structs.asdict(policy))


class ListRooms(Ask):
    own_rooms: ClassVar[bool] = True

    context_path: Annotated[
        Annotated[str, Meta(max_length=4096)] | None,
        Meta(description="Rooms from this path up to its workspace root; else all."),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="At most this many.")] = 100


class RoomSummary(Answer):
    room_id: str
    title: str
    canonical_path: str
    room_state: RoomState
    owner: str | None
    reserved_for: str | None
    turn_id: int
    members: list[str]
    created_at: Moment
    closed_at: Moment | None


class Rooms(Answer):
    rooms: list[RoomSummary]


class JoinRoom(Ask):
    context_path: Annotated[
        Annotated[str, Meta(max_length=4096)] | None, Meta(description="An absolute path in the workspace to work in.")
    ] = None
    room_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="Join this room instead of a path's.")
    ] = None
    force_new: Annotated[bool, Meta(description="Open a nested room right here even if an ancestor has one.")] = False
    in_order: Annotated[
        bool,
        Meta(
            description="False: only be seen here; your first wait gives you a place in the turn order.",
            extra_json_schema=PROGRAMS,
        ),
    ] = True
    agent_id_override: Annotated[
        Annotated[str, Meta(max_length=128)] | None,
        Meta(description="Tests and debugging only: act under this id from now on.", extra_json_schema=PROGRAMS),
    ] = None


class JoinRoomResult(Answer):
    agent_id: str
    room_id: str
    canonical_path: str
    requested_path: str | None
    workspace_root: str | None
    joined_existing_room: bool
    warning: str | None
    policy: PolicyView
    room_state: RoomState
    owner: str | None
    cursor: str
    """Where the room's events end now; wait from here."""
    handoff_template: JsonObject
    members_here: int
    members_gone: int
    """Who is a member still, and not seen any more: agents.list has them."""
    members: list[MemberView]
    """Who is here, in turn order; of many, who was seen last."""


class CreateRoom(Ask):
    title: Annotated[Text, Meta(min_length=1, max_length=200, description="What the room is for.")]
    context_path: Annotated[
        Annotated[str, Meta(max_length=4096)] | None,
        Meta(description="Bind the room to exactly this path; none when left out."),
    ] = None


class CreateRoomResult(Answer):
    room_id: str
    title: str
    canonical_path: str
    scope_key: str


class ShowRoom(Ask):
    room_id: RoomId


class ScopeView(Answer):
    scope_key: str
    root: str
    here: bool
    """Whether the root is on this machine."""


class RoomView(Answer):
    room_id: str
    title: str
    canonical_path: str
    room_state: RoomState
    created_at: Moment
    created_by: str
    closed_at: Moment | None
    policy: PolicyView
    scopes: list[ScopeView]
    head: int
    """The newest event's seq."""
    members_here: int
    members_gone: int
    """Who is a member still, and not seen any more: agents.list has them."""
    members: list[MemberView]
    """Who is here, in turn order; of many, who was seen last."""


class LeaveRoom(Ask):
    room_id: RoomId
    resumable: Annotated[
        bool,
        Meta(description="Your session ends and may be resumed: keep what you hold, and count as gone until then."),
    ] = False


class LeaveRoomResult(Answer):
    room_id: str
    agent_id: str
    left: bool
    """False when you were not a member, or stay one for what you hold."""


class RemoveMember(Ask):
    room_id: RoomId
    agent_id: Annotated[Text, Meta(min_length=1, max_length=200, description="Whom to remove, by id or name.")]
    reason: Annotated[Text, Meta(min_length=1, max_length=2000, description="Why; it is kept in the history.")]


class RemoveMemberResult(Answer):
    room_id: str
    agent_id: str
    event_seq: int


class SetPolicy(Ask):
    room_id: RoomId
    owner_lease_ttl_ms: Annotated[
        Annotated[int, Meta(ge=100, le=30 * DAY)] | None, Meta(description="How long a holder may stay silent.")
    ] = None
    heartbeat_interval_ms: Annotated[
        Annotated[int, Meta(ge=50, le=DAY)] | None, Meta(description="How often a holder should renew its lease.")
    ] = None
    claim_ttl_ms: Annotated[
        Annotated[int, Meta(ge=100, le=30 * DAY)] | None, Meta(description="How long a turn is kept for its recipient.")
    ] = None
    wait_for_turn_max_wait_ms: Annotated[
        Annotated[int, Meta(ge=0, le=WAIT_LIMIT_MS)] | None,
        Meta(description="How long a wait lasts that names no time."),
    ] = None
    wait_for_turn_poll_ms: Annotated[
        Annotated[int, Meta(ge=10, le=1_000)] | None,
        Meta(description="How soon a wait sees that the holder died or its time is up."),
    ] = None
    presence_ttl_ms: Annotated[
        Annotated[int, Meta(ge=10_000, le=30 * DAY)] | None,
        Meta(description="How long a member counts as active after a call."),
    ] = None
    ack_overdue_ms: Annotated[
        Annotated[int, Meta(ge=1_000, le=30 * DAY)] | None,
        Meta(description="How long an ack may stay out before its sender is told."),
    ] = None
    proof: Annotated[
        ProofPolicy | None,
        Meta(description="What lets a job be DONE: `evidence`, found or observed, or also what is merely `claimed`."),
    ] = None
    mode: Annotated[
        RoomMode | None,
        Meta(description="`turns`: one changes things at a time. `parallel`: side by side, by reservations and mail."),
    ] = None


class SetPolicyResult(Answer):
    room_id: str
    changed: bool
    policy: PolicyView


class ReorderMembers(Ask):
    room_id: RoomId
    sequence: Annotated[
        list[str], Meta(min_length=1, max_length=1000, description="Every member who is here, in turn order.")
    ]


class ReorderMembersResult(Answer):
    room_id: str
    changed: bool
    sequence: list[str]


class AttachScope(Ask):
    room_id: RoomId
    context_path: ContextPath


class AttachScopeResult(Answer):
    room_id: str
    scope_key: str
    root: str
    changed: bool


class AddNote(Ask):
    room_id: RoomId
    body: Annotated[str, Meta(min_length=1, max_length=NOTE_LIMIT, description="What the others should know.")]
    turn_id: Annotated[
        Annotated[int, Meta(ge=0, le=SEQ_LIMIT)] | None,
        Meta(description="The turn it is about; the present one if left out."),
    ] = None


class NoteView(Answer):
    ref: str
    seq: int
    by: str
    ts: str
    body: str
    turn_id: int | None


class ListNotes(Ask):
    room_id: RoomId
    after_seq: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="Notes after this seq.")] = 0
    limit: Annotated[int, Meta(ge=1, le=200, description="At most this many.")] = 50


class Notes(Answer):
    notes: list[NoteView]
    cursor: int


class ReplayedMember(Answer):
    agent_id: str
    name: str
    role: str
    ordinal: int


class ReplayedRoom(Answer):
    """A room's past. Leases and presence are not in the ledger, so they are not in here."""

    room_id: str
    seq: int
    ts: Moment
    kind: str
    by: str
    state: Literal["idle", "owned", "reserved", "closed"]
    turn_id: int = 0
    owner: str | None = None
    reserved_for: str | None = None
    handoff_event_seq: int | None = None
    """The event whose handoff the holder got, or the next one will get."""
    members: list[ReplayedMember]


class CloseRoom(Ask):
    room_id: RoomId
    lease_id: Annotated[
        Annotated[str, Meta(max_length=200)] | None, Meta(description="Needed while somebody holds the stick.")
    ] = None
    expected_turn_id: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="Refuse if the room has moved on.")
    ] = None
    reason: Annotated[
        Annotated[str, Meta(max_length=2000)] | None, Meta(description="Why; it is kept in the history.")
    ] = None


class CloseRoomResult(Answer):
    status: Literal["closed"] = "closed"
    room_id: str
    event_seq: int
