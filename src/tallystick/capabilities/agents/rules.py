"""Pure decisions about membership and presence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import UNSET

from tallystick.capabilities.agents import names
from tallystick.capabilities.agents.errors import AlreadyRegistered, DuplicateAgent, NotYourAgent, UnknownMember
from tallystick.capabilities.agents.events import MemberAdded, MemberRemoved, MemberUpdated
from tallystick.capabilities.agents.model import Liveness, Member, Participant, Role, Status
from tallystick.kernel.caller import Caller, ProcessState
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Draft

P = TypeVar("P", bound=Participant)

STALLED_MS = 30 * 60_000
"""How long an agent that holds something may go without adding to the ledger."""
TOUCH_INTERVAL_MS = 5_000
"""Presence is written at most this often per member."""


def person(agent_id: str) -> bool:
    return agent_id.startswith("human:")


def principal(agent_id: str) -> str:
    """Who an id stands for: a person is the room's one `user`, from whichever terminal."""
    return "user" if person(agent_id) else agent_id


def status(member: Member, *, now: Instant, presence_ttl_ms: int) -> Status:
    """Active: seen within the time limit, and not proven dead."""
    recent = member.last_seen_at + presence_ttl_ms > now
    return Status.ACTIVE if recent and member.process_state is not ProcessState.GONE else Status.INACTIVE


def liveness(member: Member | None, *, now: Instant, stale_ms: int) -> Liveness:
    """Active until the stale threshold, evicted from twice that on; proof of death beats both, and so does leaving."""
    if member is None or member.process_state is ProcessState.GONE:
        return Liveness.EVICTED
    silent = now - member.last_seen_at
    if silent < stale_ms:
        return Liveness.ACTIVE
    return Liveness.STALE if silent < 2 * stale_ms else Liveness.EVICTED


def active(members: Sequence[Member], *, now: Instant, presence_ttl_ms: int) -> list[Member]:
    return [member for member in members if status(member, now=now, presence_ttl_ms=presence_ttl_ms) is Status.ACTIVE]


def find(members: Sequence[P], agent_id: str) -> P | None:
    for member in members:
        if member.agent_id == agent_id:
            return member
    return None


def membership(members: Sequence[P], me: Caller) -> P:
    """The caller as a member, or a refusal."""
    member = find(members, me.agent_id)
    if member is None:
        raise UnknownMember(f"'{me.agent_id}' is not a member of this room.", agent_id=me.agent_id)
    return member


def joining(
    members: Sequence[Participant], me: Caller, scope_key: str, *, name: str | None = None, role: Role = Role.PEER
) -> Draft:
    """The event that appends a new member to the end of the sequence."""
    body = MemberAdded(
        actor_id=me.agent_id,
        name=name or me.display_name or me.agent_id,
        role=role.value,
        harness=me.harness,
        ordinal=1 + max((member.ordinal for member in members), default=-1),
        agent_id_override=True if me.overridden else UNSET,
    )
    return Draft.of(body, scope_key=scope_key)


def leaving(member: Participant) -> Draft:
    """The event with which a member drops out of the room."""
    return Draft.of(MemberRemoved(actor_id=member.agent_id), scope_key=member.scope_key)


def outranked(member: Member, me: Caller) -> bool:
    """Whether the stored process facts belong to a weightier session than this call's, and so stay as they are.

    Once that session's process is gone it weighs nothing: its name belongs to whoever calls now.
    """
    if member.process is None or member.process_state is ProcessState.GONE:
        return False
    return me.process is None or member.session.rank > me.session.rank


def needs_touch(member: Member, me: Caller, *, now: Instant) -> bool:
    moved = member.process != me.process and not outranked(member, me)
    return moved or not 0 <= now - member.last_seen_at < TOUCH_INTERVAL_MS


def stalled(alive: Liveness, progressed_at: Instant, *, holds: bool, now: Instant) -> bool:
    """Alive and holding something, yet without a word on the ledger for a while. Not a matter of liveness."""
    return holds and alive is Liveness.ACTIVE and now - progressed_at >= STALLED_MS


def is_registered(member: Participant) -> bool:
    """Whether it has taken a name besides its id."""
    return names.is_name(member.name) and member.name != member.agent_id


def registration(member: Participant, *, name: str, role: Role, force: bool) -> Draft | None:
    """The event that gives a member its name and role; None when it has them already."""
    draft = update(member, name=name, role=role)
    if draft and is_registered(member) and not force:
        raise AlreadyRegistered(
            f"You are registered as {member.name} ({member.role.value}).", name=member.name, role=member.role.value
        )
    return draft


def check_name_free(name: str, owner: str | None, me: str, *, present: bool) -> None:
    if owner is not None and owner != me:
        was = "is" if present else "was"
        raise DuplicateAgent(f"{name} {was} the name of {owner}.", name=name, agent_id=owner)


def check_updater(member: Participant, mine: Participant | None, me: Caller) -> None:
    """A member is changed by itself, by a foreman or by the user."""
    foreman = mine is not None and mine.role is Role.FOREMAN
    if me.agent_id != member.agent_id and not foreman and principal(me.agent_id) != "user":
        raise NotYourAgent(f"You are '{me.agent_id}' and cannot change '{member.agent_id}'.", agent_id=member.agent_id)


def update(member: Participant, *, name: str | None, role: Role | None) -> Draft | None:
    """The event that changes a member, or None when it already is as wanted."""
    wanted = (name or member.name, role or member.role)
    if wanted == (member.name, member.role):
        return None
    body = MemberUpdated(actor_id=member.agent_id, name=wanted[0], role=wanted[1].value)
    return Draft.of(body, scope_key=member.scope_key)
