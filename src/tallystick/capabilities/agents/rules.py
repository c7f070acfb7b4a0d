"""Pure decisions about membership and presence, and about names: what one may look like, and a generator of new ones.

Where the generator starts depends only on the seed, so the same agent in the same room is offered the same name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from typing import TypeVar

from msgspec import UNSET

from tallystick.capabilities.agents.errors import (
    AgentNotFound,
    AlreadyRegistered,
    AmbiguousAgent,
    DuplicateAgent,
    InvalidAgentName,
    NotYourAgent,
    PersonNeeded,
    RoleNotYours,
    ServiceNotMember,
    UnknownMember,
)
from tallystick.capabilities.agents.events import (
    MemberAdded,
    MemberRemoved,
    MemberUpdated,
    NewerSession,
    SequenceEntered,
)
from tallystick.capabilities.agents.model import Liveness, Member, Participant, Role, Status
from tallystick.kernel.caller import Caller, Process, ProcessState, SessionKind, is_person, is_service, reserved
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Draft
from tallystick.kernel.errors import InternalFault, ReservedName, did_you_mean
from tallystick.kernel.ids import digest

P = TypeVar("P", bound=Participant)

STALLED_MS = 30 * 60_000
"""How long an agent that holds something may go without adding to the ledger."""
TOUCH_INTERVAL_MS = 5_000
"""Presence is written at most this often per member."""

SHORTEST_NAME, LONGEST_NAME = 3, 48

_ADJECTIVES = """
amber ample azure bold brave bright brisk calm civil clear cobalt coral crisp daring deft eager early fair firm
fleet fond frank fresh gentle glad golden grand green hardy humble ivory jade jolly keen kind lively lucid lunar
mellow merry mild misty modest nimble noble olive opal patient plain plucky proud quiet rapid ready robust rosy ruby
russet sage sandy sharp silver sleek snowy solar solid sonic spry stable steady stout sunny swift teal tidal tidy
tranquil true umber upbeat valiant velvet vivid warm wise witty zesty
"""
_NOUNS = """
acorn anchor aspen badger beacon beaver birch bison breeze bridge brook canyon cedar cliff comet condor coral cove
crane creek delta dune eagle ember falcon fern finch fjord forest fox garden glacier grove harbor hawk hazel heron
hill island ivy juniper kestrel kite lagoon lake lantern lark laurel linden lynx maple marsh meadow mesa moon moose
oak ocean orchard osprey otter owl panda peak pebble pine plover prairie quail quarry rain raven reef ridge river
robin rook sable sparrow spruce star stone stream swan thicket tide trail tundra valley walnut willow wolf wren
"""
ADJECTIVES = tuple(_ADJECTIVES.split())
NOUNS = tuple(_NOUNS.split())

_REGISTERED_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_AGENT_NAME = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")


def persons_session(me: Caller) -> bool:
    """Whether a person is behind this very call: one at a terminal or on the page, not a program or a chosen name."""
    if me.session not in {SessionKind.HUMAN_CLI, SessionKind.HUMAN_GUARDIAN} or not is_person(me.own_id):
        return False
    return me.own_id == "user" or not me.own_id.endswith(":-")


def check_person_or_token(me: Caller) -> None:
    """Refuse all but a person and a token: one that may not manage was refused before."""
    if not me.by_token and not is_person(me.own_id):
        raise PersonNeeded(f"You are '{me.own_id}'.", agent_id=me.own_id)


def principal(agent_id: str) -> str:
    """Who an id stands for: a person is the room's one `user`, from whichever terminal."""
    return "user" if is_person(agent_id) else agent_id


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


def named(members: Sequence[P], who: str) -> P:
    """The member that an id or a registered name means, or a refusal: every operation that takes an agent asks here."""
    if found := find(members, who):
        return found
    called = [member for member in members if member.name == who]
    if len(called) > 1:
        ids = [member.agent_id for member in called]
        raise AmbiguousAgent(f"{len(called)} agents of this room are called '{who}'.", name=who, candidates=ids)
    if not called:
        known = {name for member in members for name in (member.agent_id, member.name)}
        near = did_you_mean(who, sorted(known))
        raise AgentNotFound(f"There is no agent '{who[:200]}' in this room.{near}", agent_id=who[:200])
    return called[0]


def membership(members: Sequence[P], me: Caller) -> P:
    """The caller as a member, or a refusal."""
    member = find(members, me.agent_id)
    if member is None:
        raise UnknownMember(f"'{me.agent_id}' is not a member of this room.", agent_id=me.agent_id)
    return member


def joining(
    members: Sequence[Participant],
    me: Caller,
    scope_key: str,
    *,
    name: str | None = None,
    role: Role = Role.PEER,
    in_order: bool = True,
) -> Draft:
    """The event that appends a new member to the end of the sequence, or only says that it is here."""
    if is_service(me.agent_id):
        raise ServiceNotMember(f"'{me.agent_id}' is a service.", agent_id=me.agent_id)
    body = MemberAdded(
        actor_id=me.agent_id,
        name=name or me.display_name or me.agent_id,
        role=role.value,
        harness=me.harness,
        ordinal=_last_place(members),
        agent_id_override=True if me.overridden else UNSET,
        in_order=UNSET if in_order else False,
    )
    return Draft.of(body, scope_key=scope_key)


def entering(members: Sequence[Participant], member: Participant) -> Draft:
    """The event that gives a member its place at the end of the sequence."""
    body = SequenceEntered(actor_id=member.agent_id, ordinal=_last_place(members))
    return Draft.of(body, scope_key=member.scope_key)


def _last_place(members: Sequence[Participant]) -> int:
    return 1 + max((member.ordinal for member in members), default=-1)


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


def rivals(member: Member, me: Caller) -> bool:
    """Whether a name has two sessions: the one known by its process, not known to be dead, and the caller's."""
    if member.process is None or me.process is None or member.process_state is ProcessState.GONE:
        return False
    return member.process != me.process


def superseding(member: Member, me: Caller) -> Draft:
    """The event that says that the caller's session takes the place of the member's present one."""
    older, newer = member.process, me.process
    if older is None or newer is None:
        raise InternalFault("Only a session with a process supersedes another.")
    body = NewerSession(agent_id=member.agent_id, pid=newer.pid, older_pid=older.pid)
    return Draft.of(body, scope_key=member.scope_key)


def session_key(process: Process | None, name: str) -> str:
    """What a session is remembered by, once it was superseded: its process, or its name if it has none."""
    return f"{process.host_id}/{process.pid}/{process.started_at}" if process else name


def needs_touch(member: Member, me: Caller, *, now: Instant) -> bool:
    moved = member.process != me.process and not outranked(member, me)
    return moved or not 0 <= now - member.last_seen_at < TOUCH_INTERVAL_MS


def stalled(alive: Liveness, progressed_at: Instant, *, holds: bool, now: Instant) -> bool:
    """Alive and holding something, yet without a word on the ledger for a while. Not a matter of liveness."""
    return holds and alive is Liveness.ACTIVE and now - progressed_at >= STALLED_MS


def is_registered(member: Participant) -> bool:
    """Whether it has taken a name besides its id."""
    return is_registered_name(member.name) and member.name != member.agent_id


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


def check_updater(member: Participant, me: Caller, *, foreman: bool) -> None:
    """A member is changed by itself, by a foreman whom the user appointed, or by the user."""
    if me.agent_id != member.agent_id and not foreman and not is_person(me.own_id):
        raise NotYourAgent(f"You are '{me.agent_id}' and cannot change '{member.agent_id}'.", agent_id=member.agent_id)


def check_role(present: Role, wanted: Role | None, me: Caller, *, foreman: bool) -> None:
    """A role is given by the user, by a foreman whom the user appointed, or with a token that may manage.

    Whoever has a token that may not was refused before.
    """
    if wanted is None or wanted is present or foreman or me.by_token or is_person(me.own_id):
        return
    raise RoleNotYours(f"You are '{me.own_id}' and cannot make anybody a {wanted.value}.", role=wanted.value)


def update(member: Participant, *, name: str | None, role: Role | None) -> Draft | None:
    """The event that changes a member, or None when it already is as wanted."""
    wanted = (name or member.name, role or member.role)
    if wanted == (member.name, member.role):
        return None
    body = MemberUpdated(actor_id=member.agent_id, name=wanted[0], role=wanted[1].value)
    return Draft.of(body, scope_key=member.scope_key)


def is_registered_name(text: str) -> bool:
    """Whether it is a name as agents are registered under: lower case, with hyphens."""
    return SHORTEST_NAME <= len(text) <= LONGEST_NAME and _REGISTERED_NAME.fullmatch(text) is not None


def check_name(text: str) -> str:
    """A name for an agent, on whichever way it is set: one plain word, which cannot be taken for a sentence."""
    if len(text) > LONGEST_NAME or not _AGENT_NAME.fullmatch(text):
        raise InvalidAgentName(f"{text[:80]!r} is not a name for an agent.", name=text[:200])
    if reserved(text):
        raise ReservedName(f"'{text}' is reserved.", name=text)
    return text


def check_registered_name(text: str) -> str:
    """A name to register under: narrower than others are, so that every registry can keep it."""
    if not is_registered_name(check_name(text)):
        raise InvalidAgentName(f"'{text}' is not a name to register under.", name=text)
    return text


def pick_name(taken: Collection[str], seed: str) -> str:
    """A name that is not taken; with a number once all pairs of words are."""
    used = frozenset(taken)
    count = len(ADJECTIVES) * len(NOUNS)
    start = int(digest(seed, length=12), 16)
    for round_ in itertools.count(1):
        # A stride that shares no factor with the count visits every pair, and neighbours do not look alike.
        for step in range(count):
            at = (start + step * 7919) % count
            plain = f"{ADJECTIVES[at // len(NOUNS)]}-{NOUNS[at % len(NOUNS)]}"
            name = plain if round_ == 1 else f"{plain}-{round_}"
            if name not in used:
                return name
    raise AssertionError("the numbers never end")
