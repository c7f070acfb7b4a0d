"""`rooms.leave` and `rooms.remove`: how a membership ends, by oneself or by a person."""

from __future__ import annotations

from dataclasses import replace

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.agents.model import Departures, Holdings
from tallystick.capabilities.rooms import queries
from tallystick.capabilities.rooms.contract import LeaveRoom, LeaveRoomResult, RemoveMember, RemoveMemberResult
from tallystick.capabilities.rooms.model import Sticks
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger.tx import Tx


@operation("rooms.leave", reach=Reach.SPEAK, writes=True, short="leave", examples=({"room_id": "ROOM"},))
def leave(tx: Tx, me: Caller, ask: LeaveRoom) -> LeaveRoomResult:
    """Leave a room: you drop out of the turn order. Whoever holds the stick must hand it over first."""
    room = queries.open_room(tx, ask.room_id)
    member = agents.participant(tx, room.room_id, me.agent_id)
    if member and ask.resumable and _holds(tx, room.room_id, me.agent_id):
        agents.withdraw(tx, room.room_id, me.agent_id)
        return LeaveRoomResult(room_id=room.room_id, agent_id=me.agent_id, left=False)
    if member:
        tx.use(Sticks).check_leaving(tx, room.room_id, me)
        tx.use(Departures).left(tx, room.room_id, me.agent_id)
        tx.append(room.room_id, me.agent_id, [agent_rules.leaving(member)])
        agents.forget(tx, room.room_id, me.agent_id)
    return LeaveRoomResult(room_id=room.room_id, agent_id=me.agent_id, left=member is not None)


def _holds(tx: Tx, room_id: str, agent_id: str) -> bool:
    return any(each.agent_id == agent_id for each in tx.use(Holdings).held(tx, room_id))


@operation(
    "rooms.remove",
    reach=Reach.MANAGE,
    writes=True,
    examples=({"room_id": "ROOM", "agent_id": "codex:9b22", "reason": "its script has ended"},),
)
def remove(tx: Tx, me: Caller, ask: RemoveMember) -> RemoveMemberResult:
    """Take another member out of a room, as a person: it drops out of the turn order and lets go of what it reserved.

    It may come back by joining again. Whoever holds the stick is not removed: end its turn first.
    """
    room = queries.open_room(tx, ask.room_id)
    agent_rules.check_person_or_token(me)
    target = agents.named(tx, room.room_id, ask.agent_id)
    tx.use(Sticks).check_leaving(tx, room.room_id, replace(me, agent_id=target.agent_id))
    tx.use(Departures).left(tx, room.room_id, target.agent_id)
    body = MemberRemoved(actor_id=target.agent_id, reason=ask.reason)
    by = agent_rules.principal(me.own_id)
    (event,) = tx.append(room.room_id, by, [Draft.of(body, scope_key=target.scope_key)])
    agents.forget(tx, room.room_id, target.agent_id)
    return RemoveMemberResult(room_id=room.room_id, agent_id=target.agent_id, event_seq=event.seq)
