"""`rooms.replay`: the room as it was after any of its events, folded from the ledger and from nothing else.

Only what the ledger says can be replayed: leases and presence were never written there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from msgspec import structs

from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.turns.contract import Replayed, ReplayedMember
from tallystick.capabilities.turns.model import Kind
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import as_record, operation
from tallystick.ledger import reading
from tallystick.ledger.contract import Replay
from tallystick.ledger.tx import Tx

MEMBERSHIP = ("actor.add", "actor.remove", "actor.update", "group.reorder")


def members(events: Iterable[Event]) -> list[ReplayedMember]:
    """Who was in the room after these events, in turn order."""
    found: dict[str, ReplayedMember] = {}
    for event in events:
        data = event.data
        if event.kind == "group.reorder":
            for ordinal, agent_id in enumerate(cast("list[str]", data["sequence"])):
                found[agent_id] = structs.replace(found[agent_id], ordinal=ordinal)
            continue
        agent_id = cast("str", data["actor_id"])
        if event.kind == "actor.remove":
            found.pop(agent_id, None)
            continue
        before = found.get(agent_id)
        found[agent_id] = ReplayedMember(
            agent_id=agent_id,
            name=cast("str", data["name"]),
            role=cast("str", data["role"]),
            ordinal=before.ordinal if before else cast("int", data["ordinal"]),
        )
    return sorted(found.values(), key=lambda member: member.ordinal)


def stick(last: Event | None, left_since: Sequence[str]) -> dict[str, object]:
    """Whose the stick was after its last event; a turn kept for somebody who has left since is kept for nobody."""
    if last is None:
        return {"state": "idle"}
    data = last.data
    turn_id = data["turn_id"]
    if last.kind == Kind.CLOSE:
        return {"state": "closed", "turn_id": turn_id}
    if last.kind in {Kind.CLAIM, Kind.TAKEOVER}:
        return {
            "state": "owned",
            "turn_id": turn_id,
            "owner": data["to_agent_id"],
            "handoff_event_seq": data.get("handoff_seq"),
        }
    kept = cast("str | None", data["reserved_for"])
    reserved_for = None if kept in left_since else kept
    return {
        "state": "reserved" if reserved_for else "idle",
        "turn_id": turn_id,
        "reserved_for": reserved_for,
        "handoff_event_seq": last.seq,
    }


@operation("rooms.replay", examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: Replay) -> Replayed:
    """Show the room as it was right after one of its events: who was in it, whose turn it was, with which handoff."""
    room = rooms.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    history = list(reading.until(tx, room.room_id, ask.seq, kinds=MEMBERSHIP))
    newest = reading.before(tx, room.room_id, ask.seq + 1, kinds=[kind.value for kind in Kind], limit=1)
    last = newest[0] if newest else None
    left = [
        cast("str", each.data["actor_id"])
        for each in history
        if last and each.kind == "actor.remove" and each.seq > last.seq
    ]
    known = {"room_id": room.room_id, "seq": event.seq, "ts": event.ts, "kind": event.kind, "by": event.by}
    return as_record(Replayed, {**known, **stick(last, left), "members": members(history)})
