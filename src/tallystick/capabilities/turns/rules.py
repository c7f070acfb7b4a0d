"""Pure decisions about turns: state, eligibility, fencing. The time and what is known of processes come in."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.errors import UnknownMember
from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.rooms.model import RoomState
from tallystick.capabilities.turns.contract import Handoff
from tallystick.capabilities.turns.errors import (
    InvalidHandoff,
    NobodyHolds,
    NotHolder,
    ObserverCannotHold,
    StaleLease,
    TakeoverIneligible,
    TakeoverNotAvailable,
    TurnMismatch,
)
from tallystick.capabilities.turns.events import ClaimReason, Opening, SeenOfRevoked
from tallystick.capabilities.turns.model import Lease, TurnSnapshot
from tallystick.kernel.caller import HOLDERS, Caller, ProcessState, is_person
from tallystick.kernel.clock import Instant, ahead, to_wire
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Unannounced
from tallystick.ledger.errors import RoomClosed


def _over(deadline: Instant | None, lease: Lease, now: Instant) -> bool:
    """A missing deadline (a store restored from its ledger) counts as passed: recovery must be possible.

    So does one that a clock set which was set back since: no lease lasts longer than it was granted for.
    """
    return deadline is None or deadline <= now or ahead(lease.renewed_at, now)


def _active(snapshot: TurnSnapshot, now: Instant) -> list[Member]:
    return agent_rules.active(snapshot.members, now=now, presence_ttl_ms=snapshot.room.policy.presence_ttl_ms)


def _ready(snapshot: TurnSnapshot, now: Instant) -> list[Member]:
    """Those who could hold the stick now. A person who only ran commands is a member, but nothing would hold for it."""
    return [member for member in _active(snapshot, now) if member.session in HOLDERS]


WANTS_MS = 60_000
"""So long after its wait a member still counts as wanting the stick: it calls again, or thinks about what it read."""


def waiting(snapshot: TurnSnapshot, *, now: Instant) -> list[Member]:
    """Those who want the stick now, in turn order."""
    owner = snapshot.stick.owner
    return [each for each in _ready(snapshot, now) if now < each.wants_until and each.agent_id != owner]


def following(snapshot: TurnSnapshot, agent_id: str, *, now: Instant) -> Member | None:
    """Who gets the stick after a member: the next in turn order, but nobody idle while another waits.

    Never the user: a page that was open when its button was pressed waits for nothing, and everybody would wait for it.
    """
    line = [member for member in _ready(snapshot, now) if member.in_order and member.agent_id != "user"]
    if any(now < member.wants_until and member.agent_id != agent_id for member in line):
        line = [each for each in line if now < each.wants_until or now - each.last_seen_at < WANTS_MS]
    return next_after(snapshot.members, agent_id, line)


def _gone(snapshot: TurnSnapshot, agent_id: str) -> bool:
    member = agent_rules.find(snapshot.members, agent_id)
    return member is not None and member.process_state is ProcessState.GONE


def opening(snapshot: TurnSnapshot, *, now: Instant) -> Opening | None:
    """Why the stick may be taken over; None while nobody failed. Proof of death beats any timeout."""
    stick = snapshot.stick
    if stick.owner:
        if snapshot.owner_process is ProcessState.GONE:
            return Opening.OWNER_GONE
        return Opening.OWNER_TIMEOUT if _over(snapshot.lease.lease_expires_at, snapshot.lease, now) else None
    if stick.reserved_for:
        if _gone(snapshot, stick.reserved_for):
            return Opening.RECIPIENT_GONE
        return Opening.CLAIM_TIMEOUT if _over(snapshot.lease.claim_expires_at, snapshot.lease, now) else None
    return None


def opens(snapshot: TurnSnapshot, *, now: Instant) -> Unannounced:
    """By what the stick will be open to takeover, though nobody writes anything: its deadline, or a death."""
    if snapshot.stick.owner:
        process, state = snapshot.lease.process, snapshot.owner_process
    else:
        recipient = agent_rules.find(snapshot.members, snapshot.stick.reserved_for or "")
        process, state = (recipient.process, recipient.process_state) if recipient else (None, ProcessState.UNKNOWN)
    deadline = _deadline(snapshot)
    return Unannounced(
        moment=deadline if deadline is not None and deadline > now else None,
        process_ends=process if state is ProcessState.ALIVE else None,
        every_ms=snapshot.room.policy.wait_for_turn_poll_ms,
    )


def _deadline(snapshot: TurnSnapshot) -> Instant | None:
    return snapshot.lease.lease_expires_at if snapshot.stick.owner else snapshot.lease.claim_expires_at


def state(snapshot: TurnSnapshot, *, now: Instant) -> RoomState:
    """The room's state, the most actionable first."""
    if snapshot.room.closed_at is not None:
        return RoomState.CLOSED
    match opening(snapshot, now=now):
        case Opening.OWNER_GONE:
            return RoomState.OWNER_GONE
        case Opening.OWNER_TIMEOUT:
            return RoomState.STALE_OWNER
        case Opening.RECIPIENT_GONE:
            return RoomState.RECIPIENT_GONE
        case _:
            pass
    if snapshot.stick.owner:
        return RoomState.OWNED
    if not _active(snapshot, now):
        return RoomState.DORMANT
    return RoomState.RESERVED if snapshot.stick.reserved_for else RoomState.IDLE


def next_after(members: Sequence[Member], agent_id: str, candidates: Sequence[Member]) -> Member | None:
    """The first candidate after `agent_id` in turn order, going round; never `agent_id` itself."""
    order = [member.agent_id for member in members]
    start = order.index(agent_id) + 1 if agent_id in order else 0
    wanted = {member.agent_id for member in candidates} - {agent_id}
    ring = [*members[start:], *members[:start]]
    return next((member for member in ring if member.agent_id in wanted), None)


def successor(snapshot: TurnSnapshot, me: Caller, *, now: Instant) -> Member | None:
    """Who gets first right of refusal when the caller releases."""
    return following(snapshot, me.agent_id, now=now)


def upcoming(snapshot: TurnSnapshot, *, now: Instant) -> str | None:
    """Whose turn comes next as things are: whom the stick is kept for, or who would get it were it released now."""
    stick = snapshot.stick
    if stick.reserved_for or not stick.owner:
        return stick.reserved_for
    found = following(snapshot, stick.owner, now=now)
    return found.agent_id if found else None


def takers(snapshot: TurnSnapshot, me: Caller, *, now: Instant) -> list[Member]:
    """The active members who may take over, were the stick open to it.

    After a claim timeout the one who just gave the stick away is not among them while anybody else could.
    """
    stick = snapshot.stick
    out = {stick.owner, stick.reserved_for}
    # A dead process is out; another session under the same name may take its own turn over, explicitly.
    if snapshot.owner_process is ProcessState.GONE or _replaced(snapshot) or other_session(snapshot, me):
        out.discard(stick.owner)
    others = [member for member in _ready(snapshot, now) if member.agent_id not in out]
    if opening(snapshot, now=now) is Opening.CLAIM_TIMEOUT:
        return [member for member in others if member.agent_id != snapshot.handed_by] or others
    return others


def claim_reason(snapshot: TurnSnapshot, me: Caller) -> ClaimReason | None:
    """Why the caller may claim the stick at once, or None."""
    stick = snapshot.stick
    if stick.owner or _gone(snapshot, me.agent_id):
        return None
    if stick.reserved_for is None:
        return ClaimReason.SEQUENCE if stick.pending_seq else ClaimReason.OPEN_CLAIM
    if stick.reserved_for != me.agent_id and not _for_person(stick.reserved_for, me):
        return None
    return ClaimReason.DIRECT_PASS if snapshot.handed_directly else ClaimReason.SEQUENCE


def _for_person(kept_for: str, me: Caller) -> bool:
    """What is kept for the person at a terminal is theirs on the page too: there they see who waits for them."""
    return me.agent_id == "user" and is_person(kept_for)


def session_key(me: Caller) -> str:
    """What tells a session from others that act for the same agent, besides its process."""
    own_id = me.session_id or me.agent_id
    own_id = f"{own_id}/{me.subagent}" if me.subagent else own_id
    return f"token:{own_id}" if me.by_token else own_id


def same_session(lease: Lease, me: Caller) -> bool:
    """Whether a lease was granted to the session that is calling.

    A session is a process under its own name. A command without a process of its own speaks for the session of its
    name, and a turn that such a command claimed becomes that of the first process of that name that keeps it.
    """
    if lease.session_key is not None and lease.session_key != session_key(me):
        return False
    return lease.process is None or me.process is None or lease.process == me.process


def other_session(snapshot: TurnSnapshot, me: Caller) -> bool:
    """Whether the caller's name holds the stick, but in another session."""
    return snapshot.stick.owner == me.agent_id and not same_session(snapshot.lease, me)


def _replaced(snapshot: TurnSnapshot) -> bool:
    """Whether the owner was last seen in another process than the one that was granted the turn."""
    owner = agent_rules.find(snapshot.members, snapshot.stick.owner or "")
    known = owner.process if owner else None
    return known is not None and snapshot.lease.process is not None and known != snapshot.lease.process


def holds(snapshot: TurnSnapshot, me: Caller) -> bool:
    """Whether the caller is the session that the turn was granted to, and that one is not known to be dead."""
    return (
        snapshot.stick.owner == me.agent_id
        and snapshot.owner_process is not ProcessState.GONE
        and same_session(snapshot.lease, me)
    )


def renewed(lease: Lease, me: Caller, until: Instant) -> Lease:
    """The holder's lease with a later end, bound to the caller's process if it was granted to none."""
    if lease.process is None and me.process is not None:
        lease = structs.replace(lease, process=me.process, session_kind=me.session)
    return structs.replace(lease, lease_expires_at=until, session_key=lease.session_key or session_key(me))


def expired(snapshot: TurnSnapshot, *, now: Instant) -> bool:
    return _over(snapshot.lease.lease_expires_at, snapshot.lease, now)


def wants_renewal(snapshot: TurnSnapshot, me: Caller, *, now: Instant) -> bool:
    """Whether the holder's wait has something to write: its lease ran out, or is not bound to its process yet."""
    return expired(snapshot, now=now) or (snapshot.lease.process is None and me.process is not None)


def at_once(snapshot: TurnSnapshot, me: Caller) -> bool:
    """Whether the stick is the caller's or free for it, whoever else is there."""
    return holds(snapshot, me) or claim_reason(snapshot, me) is not None


def may_take_over(snapshot: TurnSnapshot, me: Caller, *, now: Instant) -> Opening | None:
    """The opening that this caller may use."""
    if me.agent_id not in {member.agent_id for member in takers(snapshot, me, now=now)}:
        return None
    return opening(snapshot, now=now)


def _fencing(snapshot: TurnSnapshot, now: Instant) -> dict[str, object]:
    return {
        "current_owner": snapshot.stick.owner,
        "current_turn_id": snapshot.stick.turn_id,
        "room_state": state(snapshot, now=now).value,
    }


def says_something(text: str) -> bool:
    """Whether a text has anything to read: blanks and characters without width are nothing."""
    return any(each.isprintable() and not each.isspace() for each in text)


def check_reason(reason: str) -> None:
    if not says_something(reason):
        raise InvalidField("reason must say something.", field="reason")


def check_handoff(handoff: Handoff) -> dict[str, object]:
    """The handoff as it goes into the ledger, word for word; refused when it would tell the next agent nothing."""
    for name in ("status", "next_action"):
        if not says_something(getattr(handoff, name)):
            raise InvalidHandoff(f"handoff.{name} must be non-empty.", field=name)
    for artifact in handoff.artifacts or []:
        if artifact.lines and not 1 <= artifact.lines[0] <= artifact.lines[1]:
            raise InvalidHandoff(f"{artifact.path}: lines must be [first, last], counted from 1.", field="artifacts")
    return handoff.to_data()


def check_recipient(snapshot: TurnSnapshot, me: Caller, to_agent_id: str, *, now: Instant) -> Member:
    """An active member other than the caller."""
    # By id or by name; the specification has a code of its own for whom it cannot be passed to.
    known = next((each for each in snapshot.members if to_agent_id in (each.agent_id, each.name)), None)
    if known is not None and known.agent_id == me.agent_id:
        raise InvalidField("You cannot pass the stick to yourself.", field="to_agent_id")
    target = agent_rules.find(_active(snapshot, now), known.agent_id) if known else None
    if target is not None and target.agent_id == "user":
        raise ObserverCannotHold(f"'{to_agent_id}' has no session that could hold the stick.")
    if target is None:
        raise UnknownMember(f"'{to_agent_id}' is not an active member of this room.", to_agent_id=to_agent_id)
    return target


def check_open(snapshot: TurnSnapshot) -> None:
    if snapshot.room.closed_at is not None:
        raise RoomClosed(room_id=snapshot.room.room_id)


def check_turn(snapshot: TurnSnapshot, expected_turn_id: int, *, now: Instant) -> None:
    if expected_turn_id != snapshot.stick.turn_id:
        raise TurnMismatch(
            f"You expected turn {expected_turn_id}; the room is at turn {snapshot.stick.turn_id}.",
            details=_fencing(snapshot, now),
        )


def check_owner(snapshot: TurnSnapshot, me: Caller, *, lease_id: str, expected_turn_id: int, now: Instant) -> Member:
    """Fencing for every owner mutation: the turn first, then the token, then membership."""
    check_open(snapshot)
    check_turn(snapshot, expected_turn_id, now=now)
    if other_session(snapshot, me):
        raise StaleLease(_elsewhere(snapshot), details=_fencing(snapshot, now))
    if not holds(snapshot, me) or lease_id != snapshot.lease.lease_id:
        raise StaleLease(details=_fencing(snapshot, now))
    return agent_rules.membership(snapshot.members, me)


def check_revoke(snapshot: TurnSnapshot, me: Caller, *, expected_turn_id: int, now: Instant) -> str:
    """Whose turn the caller ends: a person, or a token that may manage, which others were refused before."""
    check_open(snapshot)
    agent_rules.check_person_or_token(me)
    check_turn(snapshot, expected_turn_id, now=now)
    if not snapshot.stick.owner:
        raise NobodyHolds(details=_fencing(snapshot, now))
    return snapshot.stick.owner


def _elsewhere(snapshot: TurnSnapshot) -> str:
    """Where the turn is that the caller's name holds."""
    lease = snapshot.lease
    where = f"process {lease.process.pid}" if lease.process else f"'{lease.session_key}'"
    return f"{snapshot.stick.owner} holds the stick in another session: {where}."


def check_takeover(snapshot: TurnSnapshot, me: Caller, *, expected_turn_id: int, now: Instant) -> Opening:
    """The opening through which the caller takes over; turn, then membership, then eligibility."""
    check_open(snapshot)
    check_turn(snapshot, expected_turn_id, now=now)
    agent_rules.membership(snapshot.members, me)
    reason = opening(snapshot, now=now)
    if reason is None:
        raise TakeoverNotAvailable(details=_fencing(snapshot, now))
    if me.session not in HOLDERS:
        raise ObserverCannotHold
    candidates = takers(snapshot, me, now=now)
    if me.agent_id not in {member.agent_id for member in candidates}:
        names = [member.agent_id for member in candidates]
        raise TakeoverIneligible(_ineligible(snapshot, me), candidates=names, details=_fencing(snapshot, now))
    return reason


def _ineligible(snapshot: TurnSnapshot, me: Caller) -> str:
    if _gone(snapshot, me.agent_id):
        return "The process behind your name is gone."
    if snapshot.stick.owner == me.agent_id:
        return "You own the stick: heartbeat, release or pass instead of taking it over."
    if snapshot.stick.reserved_for == me.agent_id:
        return "The stick is reserved for you: claim it by waiting for your turn instead of taking it over."
    return "You gave the stick away last, and another active member can take it over."


def liveness(snapshot: TurnSnapshot, agent_id: str | None) -> SeenOfRevoked:
    """What was seen of the one who is being revoked, for the history."""
    member = agent_rules.find(snapshot.members, agent_id or "")
    process = (
        snapshot.owner_process if snapshot.stick.owner else (member.process_state if member else ProcessState.UNKNOWN)
    )
    deadline = _deadline(snapshot)
    return SeenOfRevoked(
        process=process.value,
        last_seen_at=to_wire(member.last_seen_at) if member else None,
        deadline=to_wire(deadline) if deadline is not None else None,
    )


def check_close(
    snapshot: TurnSnapshot, me: Caller, *, lease_id: str | None, expected_turn_id: int | None, now: Instant
) -> Member:
    """A held stick's room is closed by its holder; any member may close a room that nobody holds."""
    check_open(snapshot)
    if expected_turn_id is not None:
        check_turn(snapshot, expected_turn_id, now=now)
    if snapshot.stick.owner:
        if snapshot.stick.owner != me.agent_id:
            raise NotHolder(f"'{snapshot.stick.owner}' holds the stick.", details=_fencing(snapshot, now))
        return check_owner(snapshot, me, lease_id=lease_id or "", expected_turn_id=snapshot.stick.turn_id, now=now)
    return agent_rules.membership(snapshot.members, me)
