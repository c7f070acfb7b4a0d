"""Inputs and results of `agents.*`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tallystick.capabilities.agents import rules
from tallystick.capabilities.agents.model import AdoptionReason, Liveness, Member, Role, Status
from tallystick.kernel.caller import ProcessState, SessionKind
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer, Ask, Moment, Reach, moment
from tallystick.kernel.scopes import LONGEST
from tallystick.ledger.contract import RoomId, Text

CheckoutPath = Annotated[
    Annotated[str, Meta(max_length=LONGEST)] | None,
    Meta(description="A path in the checkout to look at; the room's own if left out."),
]

ROLES = {"role": Reach.MANAGE}
"""Who gives a role decides for everybody."""


class MemberView(Answer):
    """A member of a room, in turn order."""

    agent_id: str
    name: str
    role: Role
    ordinal: int
    status: Status
    joined_at: Moment
    last_seen_at: Moment
    session_kind: SessionKind
    pid: int | None
    in_order: bool
    """Whether it has a place in the turn order, and did not only come by."""

    @classmethod
    def of(cls, member: Member, *, now: Instant, presence_ttl_ms: int) -> MemberView:
        return cls(
            agent_id=member.agent_id,
            name=member.name,
            role=member.role,
            ordinal=member.ordinal,
            status=rules.status(member, now=now, presence_ttl_ms=presence_ttl_ms),
            joined_at=moment(member.joined_at),
            last_seen_at=moment(member.last_seen_at),
            session_kind=member.session,
            pid=member.process.pid if member.process else None,
            in_order=member.in_order,
        )


LISTED = 12
"""So many members a list of who is here shows at most."""


class MembersHere(msgspec.Struct, frozen=True):
    """Who of a room's members is here; the others are only counted."""

    views: list[MemberView]
    here: int
    gone: int

    @classmethod
    def of(cls, members: Sequence[Member], *, now: Instant, presence_ttl_ms: int) -> MembersHere:
        active = rules.active(members, now=now, presence_ttl_ms=presence_ttl_ms)
        latest = sorted(active, key=lambda member: -member.last_seen_at)[:LISTED]
        shown = [MemberView.of(each, now=now, presence_ttl_ms=presence_ttl_ms) for each in active if each in latest]
        return cls(shown, len(active), len(members) - len(active))


class ShowAgent(Ask):
    room_id: RoomId
    agent_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None,
        Meta(description="Whom to show, by id or name; yourself when left out."),
    ] = None


class AgentView(Answer):
    agent_id: str
    name: str
    role: Role
    harness: str
    ordinal: int
    joined_at: Moment
    last_seen_at: Moment
    session_kind: SessionKind
    pid: int | None
    process: ProcessState
    """Whether the process behind it is alive, provably gone, or not ours to know."""
    liveness: Liveness
    """Whether what it holds still counts: active, stale or evicted."""
    progressed_at: Moment
    """When it last added something to the ledger."""
    holds: list[str]
    """What others may wait for: the stick, reserved paths, jobs."""
    stalled: bool
    """Alive and holding something, but without progress for a while."""
    branch: str | None
    """The git branch of its checkout, where that lies on the hub's machine."""

    @classmethod
    def of(
        cls, member: Member, holds: Sequence[str], *, now: Instant, stale_ms: int, branch: str | None = None
    ) -> AgentView:
        alive = rules.liveness(member, now=now, stale_ms=stale_ms)
        return cls(
            agent_id=member.agent_id,
            name=member.name,
            role=member.role,
            harness=member.harness,
            ordinal=member.ordinal,
            joined_at=moment(member.joined_at),
            last_seen_at=moment(member.last_seen_at),
            session_kind=member.session,
            pid=member.process.pid if member.process else None,
            process=member.process_state,
            liveness=alive,
            progressed_at=moment(member.progressed_at),
            holds=list(holds),
            stalled=rules.stalled(alive, member.progressed_at, holds=bool(holds), now=now),
            branch=branch,
        )


class RegisterAgent(Ask):
    reaches = ROLES

    room_id: RoomId
    name: Annotated[
        Annotated[Text, Meta(max_length=200)] | None,
        Meta(description="adjective-noun, such as amber-otter; given to you if left out."),
    ] = None
    role: Annotated[Role | None, Meta(description="foreman or peer.")] = None
    force_update: Annotated[bool, Meta(description="Change the name or role you registered before.")] = False


class RegisterAgentResult(Answer):
    status: Literal["registered", "updated", "unchanged"]
    room_id: str
    agent: AgentView


class BeatAgent(Ask):
    room_id: RoomId


class AgentHeartbeat(Answer):
    room_id: str
    agent_id: str
    name: str
    last_seen_at: Moment
    liveness: Liveness


class ListAgents(Ask):
    room_id: RoomId
    role: Annotated[Role | None, Meta(description="Only foremen, or only peers.")] = None
    status: Annotated[Liveness | None, Meta(description="Only those who are active, stale or evicted.")] = None


class Agents(Answer):
    agents: list[AgentView]


class UpdateAgent(Ask):
    reaches = ROLES

    room_id: RoomId
    agent_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="Whom to change; yourself when left out.")
    ] = None
    name: Annotated[
        Annotated[Text, Meta(min_length=1, max_length=128)] | None, Meta(description="How others should see it.")
    ] = None
    role: Annotated[Role | None, Meta(description="foreman or peer.")] = None


class UpdateAgentResult(Answer):
    changed: bool
    agent: AgentView


class AdoptAgent(Ask):
    room_id: RoomId
    agent_id: Annotated[Text, Meta(min_length=1, max_length=200, description="Whom to go on for, by id or name.")]
    context_path: CheckoutPath = None
    scope: Annotated[
        Annotated[Text, Meta(max_length=LONGEST)] | None,
        Meta(description="Where its work is; what it reserved if left out, else all."),
    ] = None
    confirm: Annotated[bool, Meta(description="You, a person, confirm it although nothing speaks for it.")] = False


class AdoptAgentResult(Answer):
    room_id: str
    agent_id: str
    """Whom you act for from now on."""
    name: str
    session_id: str
    """What you were called before."""
    reason: AdoptionReason
    evidence: str
    task_ids: list[str]
    confirmed: bool
    event_seq: int


class AllowAdoption(Ask):
    room_id: RoomId
    agent_id: Annotated[Text, Meta(min_length=1, max_length=200, description="Whom to go on for, by id or name.")]
    session_id: Annotated[Text, Meta(min_length=1, max_length=200, description="Who may, by id or name.")]


class AllowAdoptionResult(Answer):
    room_id: str
    agent_id: str
    session_id: str
    event_seq: int


class FindCandidates(Ask):
    room_id: RoomId
    context_path: CheckoutPath = None


class Candidate(Answer):
    agent_id: str
    name: str
    liveness: Liveness
    last_seen_at: Moment
    reason: AdoptionReason
    evidence: str
    task_ids: list[str]


class Recommendation(Answer):
    """What a new session should do here; the same facts always give the same."""

    action: Literal["adopt", "register"]
    agent_id: str | None
    """Whom to adopt."""
    name: str | None
    """What to register as."""
    reason: str


class Candidates(Answer):
    room_id: str
    agent_id: str
    candidates: list[Candidate]
    recommendation: Recommendation
