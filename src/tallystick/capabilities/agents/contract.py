"""Inputs and results of `agents.*`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tallystick.capabilities.agents import rules
from tallystick.capabilities.agents.model import Member, Role, Status
from tallystick.kernel.caller import ProcessState, SessionKind
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer, Ask, Moment
from tallystick.ledger.contract import RoomId, Text


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

    @classmethod
    def of(cls, member: Member, *, now: Instant, presence_ttl_ms: int) -> MemberView:
        return cls(
            agent_id=member.agent_id,
            name=member.name,
            role=member.role,
            ordinal=member.ordinal,
            status=rules.status(member, now=now, presence_ttl_ms=presence_ttl_ms),
            joined_at=member.joined_at,
            last_seen_at=member.last_seen_at,
            session_kind=member.session,
            pid=member.process.pid if member.process else None,
        )


class ShowAgent(Ask):
    room_id: RoomId
    agent_id: Annotated[Text | None, Field(max_length=200, description="Whom to show; yourself when left out.")] = None


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

    @classmethod
    def of(cls, member: Member) -> AgentView:
        return cls(
            agent_id=member.agent_id,
            name=member.name,
            role=member.role,
            harness=member.harness,
            ordinal=member.ordinal,
            joined_at=member.joined_at,
            last_seen_at=member.last_seen_at,
            session_kind=member.session,
            pid=member.process.pid if member.process else None,
            process=member.process_state,
        )


class ListAgents(Ask):
    room_id: RoomId


class Agents(Answer):
    agents: list[AgentView]


class UpdateAgent(Ask):
    room_id: RoomId
    agent_id: Annotated[Text | None, Field(max_length=200, description="Whom to change; yourself when left out.")] = (
        None
    )
    name: Annotated[Text | None, Field(min_length=1, max_length=128, description="How others should see it.")] = None
    role: Annotated[Role | None, Field(strict=False, description="foreman or peer.")] = None


class AgentUpdated(Answer):
    changed: bool
    agent: AgentView
