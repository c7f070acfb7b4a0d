"""What the ledger says of members: `actor.*`, and the adoption of one agent's work by another session."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import Record


class MemberAdded(Body, kind="actor.add"):
    """An agent joined a room, at the end of the turn order."""

    actor_id: str
    name: str
    role: str
    harness: str
    ordinal: int
    agent_id_override: bool | UnsetType = UNSET
    """The agent was named explicitly, not found from its process."""
    in_order: bool | UnsetType = UNSET
    """False for one that was only seen here: it has no place in the turn order yet."""


class SequenceEntered(Body, kind="x.tally.sequence.enter", did="takes its place in the turn order"):
    """A member that was only seen here took its place at the end of the turn order."""

    actor_id: str
    ordinal: int


class MemberUpdated(Body, kind="actor.update"):
    """A member got another name or role; both are given as they are now."""

    actor_id: str
    name: str
    role: str


class MemberRemoved(Body, kind="actor.remove", did="left"):
    """An agent left the room, or was removed from it: then with a reason."""

    actor_id: str
    reason: str | UnsetType = UNSET


class NewerSession(Body, kind="x.tally.session.supersede"):
    """A newer session came under a member's name while an older one was still there; the older is told."""

    agent_id: str
    pid: int
    older_pid: int


class AdoptionAllowed(Body, kind="x.tally.adoption.allow"):
    """A person let one session go on as an agent, whatever else speaks for it; it is used up by the adoption."""

    agent_id: str
    session_id: str


class ResumePayload(Record):
    """What the protocol's RESUME envelope carries."""

    resume_reason: str
    prior_session_agent: str
    adopted_agent: str
    evidence: str


class AgentResumed(Body, kind="x.tally.protocol.resume"):
    """A session goes on as an agent whose own session ended."""

    agent_id: str
    session_id: str
    from_agent: str
    to_agent: str
    task_id: str | None
    task_ids: list[str]
    scope: str | None
    confirmed: bool
    """A person confirmed it; nothing else spoke for it."""
    payload: ResumePayload
