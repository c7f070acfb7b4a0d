"""`turns.wait`: the one call an agent loops on. It claims the stick when its time has come, and may bring mail."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import structs

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.turns import history, listening, queries, rules
from tallystick.capabilities.turns.contract import Closed, NotYet, TakeoverAvailable, WaitTarget, WaitTurn, YourTurn
from tallystick.capabilities.turns.errors import ObserverCannotHold
from tallystick.capabilities.turns.events import ClaimReason, StickClaimed
from tallystick.capabilities.turns.model import Handed, Lease, TurnSnapshot
from tallystick.kernel.caller import HOLDERS, Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Pending, operation
from tallystick.ledger.tx import Tx

Turn: TypeAlias = YourTurn | NotYet | TakeoverAvailable | Closed


@operation(
    "turns.wait",
    waits=True,
    wait_hooks=listening.WAIT_HOOKS,
    short="wait",
    examples=({"room_id": "ROOM", "max_wait_ms": 30_000}, {"room_id": "ROOM", "include": ["turn", "messages"]}),
)
def wait(tx: Tx, me: Caller, ask: WaitTurn) -> YourTurn | NotYet | TakeoverAvailable | Closed | Pending[Turn]:
    """Wait for your turn; claims the stick when it is free or kept for you, and brings the last handoff.

    On `not_yet` call again. On `takeover_available` decide whether to take over; waiting never does that for you. The
    holder gets its own lease again. With `cursor` it also returns when something new happened in the room. With
    `include` it also brings messages and notifications that are new to you, which stay unread until messages.read, the
    action you are asked to do, until you answer it with actions.result, and what jobs ask their manager.
    """
    snapshot = _snapshot(tx, me, ask)
    if snapshot.room.closed_at is not None:
        return Closed(room_id=ask.room_id)
    agent_rules.membership(snapshot.members, me)
    news = listening.read(tx, snapshot.room, me, ask)
    head = tx.head(ask.room_id).seq
    mail_first = news.act and not tx.writable
    found = _turn(tx, snapshot, me) if WaitTarget.TURN in ask.include and not mail_first else None
    if isinstance(found, YourTurn | TakeoverAvailable):
        return structs.replace(found, **news.fields) if news.fields else found
    not_yet = NotYet(cursor=str(news.cursor or head), room_state=rules.state(snapshot, now=tx.now))
    not_yet = structs.replace(not_yet, **news.fields) if news.fields else not_yet
    if mail_first or found:
        return Pending(not_yet, act=True)
    if news.something or (ask.cursor is not None and head > int(ask.cursor)):
        return not_yet
    wait_ms = listening.wait_ms(snapshot.room, ask)
    if WaitTarget.TURN not in ask.include:
        return Pending(not_yet, wait_ms=wait_ms)
    next_in_line = rules.upcoming(snapshot, now=tx.now) == me.agent_id
    return Pending(not_yet, wait_ms=wait_ms, until=rules.opens(snapshot, now=tx.now), next_in_line=next_in_line)


def _snapshot(tx: Tx, me: Caller, ask: WaitTurn) -> TurnSnapshot:
    """In a write transaction the caller most likely claims, so the processes of others are read only if it cannot."""
    if tx.writable:
        snapshot = queries.callers_snapshot(tx, ask.room_id, me)
        if rules.at_once(snapshot, me):
            return snapshot
    return queries.snapshot(tx, ask.room_id, me)


def _turn(tx: Tx, snapshot: TurnSnapshot, me: Caller) -> YourTurn | TakeoverAvailable | ClaimReason | None:
    """The caller's turn, if it is, or its chance to take over; the reason for its turn where nothing can be written."""
    holding = rules.holds(snapshot, me)
    if holding and snapshot.lease.lease_id:
        received = history.handed(tx, snapshot.room.room_id, snapshot.stick.received_seq)
        return _granted(snapshot, snapshot.stick.turn_id, snapshot.lease.lease_id, received, ClaimReason.ALREADY_OWNER)
    reason = ClaimReason.ALREADY_OWNER if holding else rules.claim_reason(snapshot, me)
    if reason:
        if me.session not in HOLDERS:
            raise ObserverCannotHold
        return _claim(tx, snapshot, me, reason) if tx.writable else reason
    opening = rules.may_take_over(snapshot, me, now=tx.now)
    if opening is None:
        return None
    return TakeoverAvailable(
        room_id=snapshot.room.room_id,
        turn_id=snapshot.stick.turn_id,
        room_state=rules.state(snapshot, now=tx.now),
        reason=opening,
        current_owner=snapshot.stick.owner,
        reserved_for=snapshot.stick.reserved_for,
    )


def _claim(tx: Tx, snapshot: TurnSnapshot, me: Caller, reason: ClaimReason) -> YourTurn:
    room_id, turn_id, received = snapshot.room.room_id, snapshot.stick.turn_id, snapshot.handed
    if reason is ClaimReason.ALREADY_OWNER:
        received = history.handed(tx, room_id, snapshot.stick.received_seq)
    else:
        turn_id += 1
        body = StickClaimed(
            turn_id=turn_id,
            from_agent_id=snapshot.handed_by,
            to_agent_id=me.agent_id,
            reason=reason,
            handoff_seq=snapshot.stick.pending_seq,
        )
        member = agent_rules.membership(snapshot.members, me)
        tx.append(room_id, me.agent_id, [Draft.of(body, scope_key=member.scope_key)])
    return _granted(snapshot, turn_id, lease(tx, snapshot, me, turn_id), received, reason)


def lease(tx: Tx, snapshot: TurnSnapshot, me: Caller, turn_id: int) -> str:
    """A fresh fencing token for the owner of this turn."""
    lease_id, until = tx.new_id(), tx.now + snapshot.room.policy.owner_lease_ttl_ms
    new = Lease(turn_id=turn_id, lease_id=lease_id, lease_expires_at=until, process=me.process)
    queries.put_lease(tx, snapshot.room.room_id, new)
    return lease_id


def _granted(
    snapshot: TurnSnapshot, turn_id: int, lease_id: str, received: Handed | None, reason: ClaimReason
) -> YourTurn:
    return YourTurn(
        room_id=snapshot.room.room_id,
        turn_id=turn_id,
        lease_id=lease_id,
        handoff=received.handoff if received else None,
        from_agent_id=received.by if received else None,
        reason=reason,
    )
