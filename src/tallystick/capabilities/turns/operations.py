"""`turns.*`: keep, hand over and recover the stick, and the stick as rooms see it. Waiting for it is in `waiting`."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.contract import LISTED, MembersHere
from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.messages.notifications import notify_by_hub
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.contract import PolicyView
from tallystick.capabilities.rooms.model import Room, Sticks, StickSummary
from tallystick.capabilities.turns import queries, rules, waiting
from tallystick.capabilities.turns.contract import (
    PassStick,
    PassStickResult,
    ReleaseStick,
    ReleaseStickResult,
    RenewTurn,
    RenewTurnResult,
    RevokeTurn,
    RevokeTurnResult,
    RoomEvents,
    ShowState,
    StickEvent,
    StickEvents,
    TakeOverStick,
    TakeOverStickResult,
    TurnState,
)
from tallystick.capabilities.turns.errors import HoldsStick
from tallystick.capabilities.turns.events import STICK_EVENTS, StickPassed, StickReleased, StickRevoked, StickTakenOver
from tallystick.capabilities.turns.model import Lease, TurnSnapshot
from tallystick.capabilities.turns.queries import FOLDS
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.operation import Reach, as_record, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.capability import Capability, Holding
from tallystick.ledger.tx import Tx


@operation(
    "turns.heartbeat",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "lease_id": "L", "expected_turn_id": 7},),
)
def heartbeat(tx: Tx, me: Caller, ask: RenewTurn) -> RenewTurnResult:
    """Keep your turn: renews the lease while you work. A refusal means you no longer hold the stick: stop."""
    snapshot = queries.callers_snapshot(tx, ask.room_id, me)
    if not snapshot.stick.owner:
        # Refused, and the refusal says what state the room is in.
        snapshot = queries.snapshot(tx, ask.room_id, me)
    rules.check_owner(snapshot, me, lease_id=ask.lease_id, expected_turn_id=ask.expected_turn_id, now=tx.now)
    until = tx.now + snapshot.room.policy.owner_lease_ttl_ms
    queries.put_lease(tx, ask.room_id, rules.renewed(snapshot.lease, me, until))
    return RenewTurnResult(
        room_id=ask.room_id, turn_id=snapshot.stick.turn_id, lease_id=ask.lease_id, lease_expires_at=moment(until)
    )


_HANDOFF = {"status": "fixed the parser, tests green", "next_action": "review src/parser.py"}


@operation(
    "turns.release",
    reach=Reach.WORK,
    writes=True,
    short="release",
    examples=({"room_id": "ROOM", "lease_id": "L", "expected_turn_id": 7, "handoff": _HANDOFF},),
)
def release(tx: Tx, me: Caller, ask: ReleaseStick) -> ReleaseStickResult:
    """Hand over: give the stick back with a handoff; the next in sequence gets it first."""
    snapshot = queries.snapshot(tx, ask.room_id, me)
    rules.check_owner(snapshot, me, lease_id=ask.lease_id, expected_turn_id=ask.expected_turn_id, now=tx.now)
    chosen = rules.successor(snapshot, me, now=tx.now)
    to = chosen.agent_id if chosen else None
    seq = _hand_over(tx, snapshot, me, ask, kind=StickReleased, to=to)
    return ReleaseStickResult(room_id=ask.room_id, reserved_for=to, event_seq=seq)


@operation(
    "turns.pass",
    reach=Reach.WORK,
    writes=True,
    short="pass",
    examples=(
        {"room_id": "ROOM", "lease_id": "L", "expected_turn_id": 7, "to_agent_id": "codex:9b22", "handoff": _HANDOFF},
    ),
)
def pass_(tx: Tx, me: Caller, ask: PassStick) -> PassStickResult:
    """Hand over to one particular active member, with a handoff; the sequence goes on from there."""
    snapshot = queries.snapshot(tx, ask.room_id, me)
    rules.check_owner(snapshot, me, lease_id=ask.lease_id, expected_turn_id=ask.expected_turn_id, now=tx.now)
    target = rules.check_recipient(snapshot, me, ask.to_agent_id, now=tx.now)
    seq = _hand_over(tx, snapshot, me, ask, kind=StickPassed, to=target.agent_id)
    return PassStickResult(room_id=ask.room_id, reserved_for=target.agent_id, event_seq=seq)


def _hand_over(
    tx: Tx,
    snapshot: TurnSnapshot,
    me: Caller,
    ask: ReleaseStick,
    *,
    kind: type[StickReleased | StickPassed],
    to: str | None,
) -> int:
    body = kind(
        turn_id=snapshot.stick.turn_id,
        from_agent_id=me.agent_id,
        to_agent_id=to if kind is StickPassed else None,
        reserved_for=to,
        handoff=rules.check_handoff(ask.handoff),
    )
    member = agent_rules.membership(snapshot.members, me)
    (event,) = tx.append(ask.room_id, me.agent_id, [Draft.of(body, scope_key=member.scope_key)])
    claim_until = tx.now + snapshot.room.policy.claim_ttl_ms if to else None
    queries.put_lease(tx, ask.room_id, Lease(turn_id=snapshot.stick.turn_id, claim_expires_at=claim_until))
    return event.seq


@operation(
    "turns.takeover",
    reach=Reach.WORK,
    writes=True,
    short="takeover",
    examples=({"room_id": "ROOM", "expected_turn_id": 7, "reason": "owner lease expired"},),
)
def takeover(tx: Tx, me: Caller, ask: TakeOverStick) -> TakeOverStickResult:
    """Take the stick from a holder or recipient who failed; its old lease is fenced off at once.

    Only when a wait or the room's state says that takeover is available, and with a reason. No handoff comes with it:
    read the history of the stick to see what was going on.
    """
    rules.check_reason(ask.reason)
    snapshot = queries.snapshot(tx, ask.room_id, me)
    opening = rules.check_takeover(snapshot, me, expected_turn_id=ask.expected_turn_id, now=tx.now)
    revoked = snapshot.stick.owner or snapshot.stick.reserved_for
    turn_id = snapshot.stick.turn_id + 1
    body = StickTakenOver(
        turn_id=turn_id,
        from_agent_id=revoked,
        to_agent_id=me.agent_id,
        reason=ask.reason,
        opening=opening,
        liveness=rules.liveness(snapshot, revoked),
    )
    member = agent_rules.membership(snapshot.members, me)
    tx.append(ask.room_id, me.agent_id, [Draft.of(body, scope_key=member.scope_key)])
    if not member.in_order:
        tx.append(ask.room_id, me.agent_id, [agent_rules.entering(snapshot.members, member)])
    waiting.lose_turn(tx, ask.room_id, snapshot.stick.owner, turn_id=turn_id - 1, by=me.agent_id, reason=ask.reason)
    lease_id = waiting.lease(tx, snapshot, me, turn_id)
    return TakeOverStickResult(
        room_id=ask.room_id,
        turn_id=turn_id,
        lease_id=lease_id,
        revoked_agent_id=revoked,
        reason=ask.reason,
    )


@operation(
    "turns.revoke",
    reach=Reach.MANAGE,
    writes=True,
    examples=({"room_id": "ROOM", "expected_turn_id": 7, "reason": "it hangs"},),
)
def revoke(tx: Tx, me: Caller, ask: RevokeTurn) -> RevokeTurnResult:
    """End a living holder's turn, as a person: the next in sequence gets the stick first, and the holder is told.

    Its lease is worthless at once. A holder who failed is taken over instead.
    """
    rules.check_reason(ask.reason)
    snapshot = queries.snapshot(tx, ask.room_id, me)
    owner = rules.check_revoke(snapshot, me, expected_turn_id=ask.expected_turn_id, now=tx.now)
    following = rules.upcoming(snapshot, now=tx.now)
    turn_id, by = snapshot.stick.turn_id, agent_rules.principal(me.own_id)
    body = StickRevoked(turn_id=turn_id, from_agent_id=owner, reserved_for=following, reason=ask.reason)
    (event,) = tx.append(ask.room_id, by, [Draft.of(body)])
    claim_until = tx.now + snapshot.room.policy.claim_ttl_ms if following else None
    queries.put_lease(tx, ask.room_id, Lease(turn_id=turn_id, claim_expires_at=claim_until))
    waiting.lose_turn(tx, ask.room_id, owner, turn_id=turn_id, by=by, reason=ask.reason)
    told = {"title": "Your turn was ended", "message": f"{by} ended turn {turn_id}: {ask.reason}"}
    notify_by_hub(tx, ask.room_id, to=owner, related_event_id=event.id, **told)
    return RevokeTurnResult(
        room_id=ask.room_id, turn_id=turn_id, revoked_agent_id=owner, reserved_for=following, event_seq=event.seq
    )


@operation("turns.state", reach=Reach.READ, short="state", takes_note=waiting.LOOKED, examples=({"room_id": "ROOM"},))
def show_state(tx: Tx, me: Caller, ask: ShowState) -> TurnState:
    """Show whose turn it is, who comes next, how long leases last and whether the stick may be taken over."""
    return state_for(tx, me, ask.room_id)


def state_for(tx: Tx, me: Caller, room_id: str) -> TurnState:
    """The stick of a room as this caller may see it."""
    snapshot = queries.snapshot(tx, room_id, me)
    stick, lease, policy = snapshot.stick, snapshot.lease, snapshot.room.policy
    opening = rules.opening(snapshot, now=tx.now)
    here = MembersHere.of(snapshot.members, now=tx.now, presence_ttl_ms=policy.presence_ttl_ms)
    order = [member.agent_id for member in here.views]
    return TurnState(
        room_id=room_id,
        canonical_path=snapshot.room.canonical_path,
        sequence_index=order.index(stick.sequence_at) if stick.sequence_at in order else 0,
        owner=stick.owner,
        reserved_for=stick.reserved_for,
        pending_handoff_event_seq=stick.pending_seq,
        turn_id=stick.turn_id,
        lease_id=lease.lease_id if rules.holds(snapshot, me) else None,
        lease_expires_at=moment(lease.lease_expires_at if stick.owner else None),
        claim_expires_at=moment(lease.claim_expires_at if stick.reserved_for else None),
        state=rules.state(snapshot, now=tx.now),
        updated_at=moment(max(stick.updated_at, lease.renewed_at)),
        takeover=opening,
        takeover_candidates=[m.agent_id for m in rules.takers(snapshot, me, now=tx.now)][:LISTED] if opening else [],
        next=rules.upcoming(snapshot, now=tx.now),
        waiting=[member.agent_id for member in rules.waiting(snapshot, now=tx.now)][:LISTED],
        policy=PolicyView.of(policy),
        cursor=str(tx.head(room_id).seq),
        members_here=here.here,
        members_gone=here.gone,
        members=here.views,
    )


def _row(event: Event) -> StickEvent:
    return as_record(
        StickEvent,
        {
            "event_seq": event.seq,
            "event_id": event.id,
            "room_id": event.room_id,
            "event_type": event.kind.rpartition(".")[2],
            "from_agent_id": None,
            "to_agent_id": None,
            "handoff": None,
            "reason": None,
            "created_at": event.ts,
            **event.data,
        },
    )


@operation("turns.history", reach=Reach.READ, examples=({"room_id": "ROOM", "newest": True, "limit": 10},))
def stick_events(tx: Tx, me: Caller, ask: RoomEvents) -> StickEvents:
    """Read the stick's history: claims, releases, passes and takeovers, with every handoff word for word.

    After a takeover this is where the context is. Page on with the returned cursor as `after_event_seq`.
    """
    rooms.room(tx, ask.room_id)
    kinds = [body.kind for body in STICK_EVENTS]
    if ask.newest:
        head = tx.head(ask.room_id).seq
        events = reading.before(tx, ask.room_id, head + 1, kinds=kinds, limit=ask.limit)
        events = [event for event in events if event.seq > ask.after_event_seq]
    else:
        events = reading.since(tx, ask.room_id, ask.after_event_seq, kinds=kinds, limit=ask.limit)
    cursor = events[-1].seq if events else ask.after_event_seq
    return StickEvents(events=[_row(event) for event in events], cursor=cursor)


class RoomSticks:
    def summary(self, tx: Tx, room: Room, members: Sequence[Member]) -> StickSummary:
        snapshot = queries.snapshot_of(tx, room, members)
        return StickSummary(
            state=rules.state(snapshot, now=tx.now),
            owner=snapshot.stick.owner,
            reserved_for=snapshot.stick.reserved_for,
            turn_id=snapshot.stick.turn_id,
        )

    def turn_id(self, tx: Tx, room_id: str) -> int:
        return queries.stick(tx, room_id).turn_id

    def check_leaving(self, tx: Tx, room_id: str, me: Caller) -> None:
        if queries.stick(tx, room_id).owner == me.agent_id:
            raise HoldsStick(f"{me.agent_id} holds the stick of this room.", room_id=room_id)

    def check_closing(
        self, tx: Tx, room_id: str, me: Caller, *, lease_id: str | None, expected_turn_id: int | None
    ) -> int:
        snapshot = queries.snapshot(tx, room_id, me)
        rules.check_close(snapshot, me, lease_id=lease_id, expected_turn_id=expected_turn_id, now=tx.now)
        return snapshot.stick.turn_id


def holdings(tx: Tx, room_id: str) -> list[Holding]:
    owner = queries.stick(tx, room_id).owner
    return [Holding(agent_id=owner, what="the stick")] if owner else []


OFFERS: dict[type, object] = {Sticks: RoomSticks()}


CAPABILITY = Capability(
    name="turns",
    package="tallystick.capabilities.turns",
    operations=(
        waiting.wait,
        heartbeat,
        release,
        pass_,
        takeover,
        revoke,
        show_state,
        stick_events,
        waiting.lost,
    ),
    folds=FOLDS,
    tables=("sticks",),
    offers=OFFERS,
    holdings=holdings,
)
