"""`turns.wait`, the one call an agent loops on, and `turns.lost`: a turn that was taken from somebody meanwhile.

A wait claims the stick when its time has come. It may also bring mail, actions and questions of jobs, so that an agent
needs one loop. A wait that listens for those is attended: it is the only one of its name, and writes once when it
begins and once when it ends. Whoever slept through a takeover would write over its successor's work: that is known
until the agent has looked at the room, and is no event, for nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec import UNSET, structs

from tallystick.capabilities.actions.operations import next_action
from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries as jobs
from tallystick.capabilities.messages import inbox
from tallystick.capabilities.messages.events import MessageSent, NotificationSent
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Room, RoomState
from tallystick.capabilities.turns import queries, rules
from tallystick.capabilities.turns.contract import (
    Closed,
    FindLostTurn,
    HeldElsewhere,
    LostTurn,
    NotYet,
    ShowState,
    TakeoverAvailable,
    WaitTarget,
    WaitTurn,
    YourTurn,
)
from tallystick.capabilities.turns.errors import ObserverCannotHold
from tallystick.capabilities.turns.events import ClaimReason, StickClaimed
from tallystick.capabilities.turns.model import Handed, Lease, TurnSnapshot
from tallystick.capabilities.turns.queries import SQL
from tallystick.kernel.caller import HOLDERS, Caller
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.operation import Pending, Reach, TakesNote, WaitHooks, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.contract import Envelope
from tallystick.ledger.tx import Tx

KINDS: Mapping[WaitTarget, str] = {
    WaitTarget.MESSAGES: MessageSent.kind,
    WaitTarget.NOTIFICATIONS: NotificationSent.kind,
}


class TakenTurn(msgspec.Struct, frozen=True, kw_only=True):
    turn_id: int
    taken_by: str
    reason: str


def lose_turn(tx: Tx, room_id: str, agent_id: str | None, *, turn_id: int, by: str, reason: str) -> None:
    """Remember that an agent's turn was taken, unless it took that over itself."""
    if agent_id is not None and agent_id != by:
        tx.run(SQL["lose"], room_id=room_id, agent_id=agent_id, turn_id=turn_id, taken_by=by, reason=reason)


def settle_lost_turn(tx: Tx, room_id: str, agent_id: str) -> None:
    tx.run(SQL["settle"], room_id=room_id, agent_id=agent_id)


def lost_turn(tx: Tx, room_id: str, agent_id: str) -> TakenTurn | None:
    return tx.one(SQL["lost"], TakenTurn, room_id=room_id, agent_id=agent_id)


def _lost_turn_due(tx: Tx, me: Caller, ask: WaitTurn | ShowState) -> bool:
    peeks = isinstance(ask, ShowState) and ask.peek
    return not peeks and lost_turn(tx, ask.room_id, me.agent_id) is not None


def _lost_turn_noted(tx: Tx, me: Caller, ask: WaitTurn | ShowState) -> None:
    if not (isinstance(ask, ShowState) and ask.peek):
        settle_lost_turn(tx, ask.room_id, me.agent_id)


LOOKED = TakesNote(due=_lost_turn_due, note=_lost_turn_noted)
"""Of an operation that shows whose turn it is."""


@operation("turns.lost", reach=Reach.READ, examples=({"room_id": "ROOM"},))
def lost(tx: Tx, me: Caller, ask: FindLostTurn) -> LostTurn:
    """Say whether your turn was taken from you and you have not looked since; hooks ask before an edit.

    In a room where agents work side by side an edit needs no turn, so nothing is said of a lost one.
    """
    room = rooms.room(tx, ask.room_id)
    found = lost_turn(tx, ask.room_id, me.agent_id) if room.policy.mode == "turns" else None
    if found is None:
        return LostTurn(room_id=ask.room_id, agent_id=me.agent_id)
    return LostTurn(
        room_id=ask.room_id,
        agent_id=me.agent_id,
        turn_id=found.turn_id,
        taken_by=found.taken_by,
        reason=found.reason,
    )


class WaitNews(msgspec.Struct, frozen=True, kw_only=True):
    """What came in. Without anything to listen for, nothing ever does."""

    events: tuple[Event, ...] = ()
    wanted: tuple[WaitTarget, ...] = ()
    actions: tuple[Mapping[str, object], ...] | None = None
    questions: tuple[Event, ...] | None = None
    cursor: int | None = None
    act: bool = False

    @property
    def something(self) -> bool:
        return bool(self.events or self.actions or self.questions)

    @property
    def fields(self) -> dict[str, object]:
        """The part of an answer that carries it: one list for each thing that was asked for."""
        found: dict[str, object] = {
            wanted.value: [Envelope.of(event) for event in self.events if event.kind == KINDS[wanted]]
            for wanted in self.wanted
        }
        if self.actions is not None:
            found[WaitTarget.ACTIONS.value] = [dict(each) for each in self.actions]
        if self.questions is not None:
            found[WaitTarget.JOBS.value] = [Envelope.of(event) for event in self.questions]
        return found


def read_news(tx: Tx, room: Room, me: Caller, ask: WaitTurn) -> WaitNews:
    wanted = tuple(each for each in WaitTarget if each in ask.include and each in KINDS)
    actions = _actions(tx, room, me) if WaitTarget.ACTIONS in ask.include else None
    after = int(ask.cursor) if ask.cursor is not None else None
    asked = tuple(jobs.questions(tx, room.room_id, after=after)) if WaitTarget.JOBS in ask.include else None
    if not wanted and inbox.is_called(tx, room.room_id, me, after=after):
        # All that came up to there is brought along, so that what a wait has brought stays one stretch of the inbox.
        wanted = tuple(KINDS)
    if not wanted:
        return WaitNews(actions=actions, questions=asked)
    news = inbox.new_mail(tx, room, me, kinds=[KINDS[each] for each in wanted], after=after)
    return WaitNews(
        events=tuple(news.events),
        wanted=wanted,
        actions=actions,
        questions=asked,
        cursor=news.cursor,
        act=news.act,
    )


def _actions(tx: Tx, room: Room, me: Caller) -> tuple[Mapping[str, object], ...]:
    found = next_action(tx, room.room_id, me)
    return (found.to_data(),) if found else ()


def _listens(ask: WaitTurn) -> bool:
    return ask.max_wait_ms != 0 and not KINDS.keys().isdisjoint(ask.include)


def _begin(tx: Tx, me: Caller, ask: WaitTurn) -> str:
    tx.lock(ask.room_id)
    room = rooms.room(tx, ask.room_id)
    agent_rules.membership(agents.roster(tx, room.room_id), me)
    return inbox.begin_listening(tx, room.room_id, me, wait_ms=allowed_wait_ms(room, ask))


def _end(tx: Tx, me: Caller, ask: WaitTurn, listener_id: str) -> None:
    inbox.end_listening(tx, ask.room_id, me, listener_id)


def allowed_wait_ms(room: Room, ask: WaitTurn) -> int:
    return room.policy.wait_for_turn_max_wait_ms if ask.max_wait_ms is None else ask.max_wait_ms


WAIT_HOOKS = WaitHooks(applies=_listens, begin=_begin, end=_end)


def handed(tx: Tx, room_id: str, seq: int | None) -> Handed | None:
    """The handoff written at `seq`."""
    if not seq:
        return None
    event = reading.event_at(tx, room_id, seq)
    return Handed(by=event.by, kind=event.kind, body=event.body)


Turn: TypeAlias = YourTurn | NotYet | TakeoverAvailable | Closed


@operation(
    "turns.wait",
    reach=Reach.WORK,
    waits=True,
    takes_note=LOOKED,
    wait_hooks=WAIT_HOOKS,
    short="wait",
    examples=({"room_id": "ROOM", "max_wait_ms": 30_000}, {"room_id": "ROOM", "include": ["turn", "messages"]}),
)
def wait(tx: Tx, me: Caller, ask: WaitTurn) -> YourTurn | NotYet | TakeoverAvailable | Closed | Pending[Turn]:
    """Wait for your turn; claims the stick when it is free or kept for you, and brings the last handoff.

    On `not_yet` call again. On `takeover_available` decide whether to take over; waiting never does that for you. The
    holder gets its own lease again. Mail that wants your ack ends the wait and comes with it. With `cursor` it also
    returns when something new happened in the room; with `include` it brings all new mail, the action you are asked to
    do, and what jobs ask their manager.
    """
    snapshot = _snapshot(tx, me, ask)
    if snapshot.room.closed_at is not None:
        return _closed(tx, snapshot, me, ask)
    member = agent_rules.membership(snapshot.members, me)
    wants = WaitTarget.TURN in ask.include
    if wants and not member.in_order and tx.writable:
        tx.append(ask.room_id, me.agent_id, [agent_rules.entering(snapshot.members, member)])
        snapshot = queries.snapshot(tx, ask.room_id, me)
    news = read_news(tx, snapshot.room, me, ask)
    head = tx.head(ask.room_id).seq
    mail_first = news.act and not tx.writable
    found = _turn(tx, snapshot, me) if wants and not mail_first else None
    if isinstance(found, YourTurn | TakeoverAvailable) and (member.in_order or tx.writable):
        return structs.replace(found, **news.fields) if news.fields else found
    not_yet = _not_yet(snapshot, me, cursor=news.cursor or head, state=rules.state(snapshot, now=tx.now))
    not_yet = structs.replace(not_yet, **news.fields) if news.fields else not_yet
    if mail_first or found or (wants and not member.in_order and not tx.writable):
        return Pending(not_yet, act=True)
    if news.something or (ask.cursor is not None and head > int(ask.cursor)):
        return not_yet
    wait_ms = allowed_wait_ms(snapshot.room, ask)
    if not wants:
        return Pending(not_yet, wait_ms=wait_ms)
    if wait_ms and member.wants_until < tx.now + min(wait_ms, rules.WANTS_MS):
        if not tx.writable:
            return Pending(not_yet, act=True)
        agents.want(tx, ask.room_id, me.agent_id, tx.now + wait_ms + rules.WANTS_MS)
    next_in_line = rules.upcoming(snapshot, now=tx.now) == me.agent_id
    return Pending(not_yet, wait_ms=wait_ms, until=rules.opens(snapshot, now=tx.now), next_in_line=next_in_line)


def _closed(tx: Tx, snapshot: TurnSnapshot, me: Caller, ask: WaitTurn) -> Closed | Pending[Turn]:
    """Nothing more will happen here; what had come before that is brought, once."""
    closed = Closed(room_id=snapshot.room.room_id)
    if agent_rules.find(snapshot.members, me.agent_id) is None:
        return closed
    news = read_news(tx, snapshot.room, me, ask)
    found = structs.replace(closed, **news.fields) if news.fields else closed
    return Pending(found, act=True) if news.act and not tx.writable else found


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
        if not rules.wants_renewal(snapshot, me, now=tx.now):
            return _already(tx, snapshot, snapshot.lease.lease_id)
        return _renewed(tx, snapshot, me) if tx.writable else ClaimReason.ALREADY_OWNER
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


def _already(tx: Tx, snapshot: TurnSnapshot, lease_id: str) -> YourTurn:
    received = handed(tx, snapshot.room.room_id, snapshot.stick.received_seq)
    return _granted(snapshot, snapshot.stick.turn_id, lease_id, received, ClaimReason.ALREADY_OWNER)


def _renewed(tx: Tx, snapshot: TurnSnapshot, me: Caller) -> YourTurn:
    """The holder's own turn again, with more time; it says so when its lease had run out."""
    lease, was_late = snapshot.lease, rules.expired(snapshot, now=tx.now)
    until = tx.now + snapshot.room.policy.owner_lease_ttl_ms if was_late else lease.lease_expires_at
    queries.put_lease(tx, snapshot.room.room_id, rules.renewed(lease, me, until or tx.now))
    found = _already(tx, snapshot, lease.lease_id or "")
    ended = moment(lease.lease_expires_at) if was_late else None
    return structs.replace(found, lease_expired_at=ended) if ended is not None else found


def _not_yet(snapshot: TurnSnapshot, me: Caller, *, cursor: int, state: RoomState) -> NotYet:
    stick, lease = snapshot.stick, snapshot.lease
    kept_until = moment(lease.claim_expires_at) if stick.reserved_for else None
    return NotYet(
        cursor=str(cursor),
        room_state=state,
        current_owner=stick.owner or UNSET,
        reserved_for=stick.reserved_for or UNSET,
        claim_expires_at=UNSET if kept_until is None else kept_until,
        other_session=_elsewhere(lease, me) if rules.other_session(snapshot, me) else UNSET,
    )


def _elsewhere(lease: Lease, me: Caller) -> HeldElsewhere:
    return HeldElsewhere(
        agent_id=me.agent_id,
        session_id=lease.session_key or me.agent_id,
        session_kind=lease.session_kind,
        pid=lease.process.pid if lease.process else None,
        lease_expires_at=moment(lease.lease_expires_at),
    )


def _claim(tx: Tx, snapshot: TurnSnapshot, me: Caller, reason: ClaimReason) -> YourTurn:
    room_id, turn_id, received = snapshot.room.room_id, snapshot.stick.turn_id, snapshot.handed
    if reason is ClaimReason.ALREADY_OWNER:
        received = handed(tx, room_id, snapshot.stick.received_seq)
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
        if member.wants_until:
            agents.want(tx, room_id, me.agent_id, 0)
    return _granted(snapshot, turn_id, lease(tx, snapshot, me, turn_id), received, reason)


def lease(tx: Tx, snapshot: TurnSnapshot, me: Caller, turn_id: int) -> str:
    """A fresh fencing token for the owner of this turn."""
    lease_id, until = tx.new_id(), tx.now + snapshot.room.policy.owner_lease_ttl_ms
    new = Lease(
        turn_id=turn_id,
        lease_id=lease_id,
        lease_expires_at=until,
        process=me.process,
        session_key=rules.session_key(me),
        session_kind=me.session,
    )
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
