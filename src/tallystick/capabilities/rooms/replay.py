"""`rooms.replay`: the room as it was after any of its events, folded from the ledger and from nothing else.

Only what the ledger says can be replayed: leases and presence were never written there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from tallystick.capabilities.agents.events import MemberAdded, MemberRemoved, MemberUpdated
from tallystick.capabilities.rooms import queries
from tallystick.capabilities.rooms.contract import ReplayedMember, ReplayedRoom
from tallystick.capabilities.rooms.events import SequenceChanged, StickClosed
from tallystick.capabilities.turns.events import (
    STICK_EVENTS,
    StickClaimed,
    StickPassed,
    StickReleased,
    StickTakenOver,
)
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import as_record, operation
from tallystick.ledger import reading
from tallystick.ledger.contract import Replay
from tallystick.ledger.tx import Tx

MEMBERSHIP = (MemberAdded.kind, MemberRemoved.kind, MemberUpdated.kind, SequenceChanged.kind)


def members(events: Iterable[Event]) -> list[ReplayedMember]:
    """Who was in the room after these events, in turn order."""
    found: dict[str, ReplayedMember] = {}
    for event in events:
        match event.content:
            case MemberAdded(actor_id=agent_id, name=name, role=role, ordinal=ordinal):
                found[agent_id] = ReplayedMember(agent_id=agent_id, name=name, role=role, ordinal=ordinal)
            case MemberUpdated(actor_id=agent_id, name=name, role=role):
                found[agent_id] = structs.replace(found[agent_id], name=name, role=role)
            case MemberRemoved(actor_id=agent_id):
                found.pop(agent_id, None)
            case SequenceChanged(sequence=sequence):
                for ordinal, agent_id in enumerate(sequence):
                    found[agent_id] = structs.replace(found[agent_id], ordinal=ordinal)
            case _:
                pass
    return sorted(found.values(), key=lambda member: member.ordinal)


def stick(last: Event | None, left_since: Sequence[str]) -> dict[str, object]:
    """Whose the stick was after its last event; a turn kept for somebody who has left since is kept for nobody."""
    match last.content if last else None:
        case StickClosed(turn_id=turn_id):
            return {"state": "closed", "turn_id": turn_id}
        case StickClaimed(turn_id=turn_id, to_agent_id=owner, handoff_seq=seq):
            return {"state": "owned", "turn_id": turn_id, "owner": owner, "handoff_event_seq": seq}
        case StickTakenOver(turn_id=turn_id, to_agent_id=owner):
            return {"state": "owned", "turn_id": turn_id, "owner": owner, "handoff_event_seq": None}
        case (StickReleased() | StickPassed()) as handed if last:
            reserved_for = None if handed.reserved_for in left_since else handed.reserved_for
            return {
                "state": "reserved" if reserved_for else "idle",
                "turn_id": handed.turn_id,
                "reserved_for": reserved_for,
                "handoff_event_seq": last.seq,
            }
        case _:
            return {"state": "idle"}


@operation("rooms.replay", examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: Replay) -> ReplayedRoom:
    """Show the room as it was right after one of its events: who was in it, whose turn it was, with which handoff."""
    room = queries.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    history = list(reading.until(tx, room.room_id, ask.seq, kinds=MEMBERSHIP))
    newest = reading.before(tx, room.room_id, ask.seq + 1, kinds=[body.kind for body in STICK_EVENTS], limit=1)
    last = newest[0] if newest else None
    left = [
        body.actor_id
        for each in history
        if last and each.seq > last.seq and isinstance(body := each.content, MemberRemoved)
    ]
    known = {"room_id": room.room_id, "seq": event.seq, "ts": event.ts, "kind": event.kind, "by": event.by}
    return as_record(ReplayedRoom, {**known, **stick(last, left), "members": members(history)})
