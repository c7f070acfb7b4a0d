"""A small model of rooms and their stick, written from the specification alone; of our code it knows the clock only.

Every call gives the answer that the specification demands, or the code of a refusal. A new lease is `NEW`; whoever
compares says which one it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tallystick.kernel.clock import to_wire
from tests.turns.reference_state import IDLE, Handed, Presence, Room, Sight

NEW = "a lease that was never given before"

Reply: TypeAlias = "dict[str, Any] | Refusal"


@dataclass(frozen=True)
class Refusal:
    code: str
    details: dict[str, object] | None = None


@dataclass
class Workspace(Sight):
    """One path, the rooms it has had, and the processes of this machine."""

    rooms: list[Room] = field(default_factory=list[Room])

    def touch(self, room: Room, me: str, pid: int) -> None:
        """Every call of a member shows that it is there; a new process beside a living one supersedes it."""
        if me not in room.members:
            return
        known = room.presence.get(me)
        superseding = known is not None and known.pid != pid and known.pid not in self.dead
        if known is not None and superseding and room.closed:
            pid = known.pid
        room.seq += superseding and not room.closed
        room.presence[me] = Presence(self.now, pid, known.waits_until if known else 0)

    def join(self, me: str, pid: int, *, in_order: bool) -> Reply:
        existed = bool(self.rooms) and not self.rooms[-1].closed
        if not existed:
            self.rooms.append(Room(seq=2))
        room = self.rooms[-1]
        if me not in room.members:
            room.members.append(me)
            room.seq += 1
            room.only_seen |= set() if in_order else {me}
        if in_order:
            self._enter(room, me)
        self.touch(room, me, pid)
        return {
            "agent_id": me,
            "joined_existing_room": existed,
            "room_state": self.state(room),
            "owner": room.owner,
            "cursor": str(room.seq),
        }

    def _enter(self, room: Room, me: str) -> None:
        """Who has no place in the turn order takes the last one."""
        if me in room.only_seen:
            room.only_seen.remove(me)
            room.members.remove(me)
            room.members.append(me)
            room.seq += 1

    def leave(self, room: Room, me: str) -> Reply:
        if room.closed:
            return Refusal("room_closed")
        if me not in room.members:
            return {"agent_id": me, "left": False}
        if room.owner == me:
            return Refusal("holds_stick")
        room.members.remove(me)
        room.only_seen.discard(me)
        del room.presence[me]
        room.seq += 1
        if room.reserved_for == me:
            room.reserved_for = None
        return {"agent_id": me, "left": True}

    def wait(self, room: Room, me: str, ms: int) -> Reply:
        if room.closed:
            return {"status": "closed"}
        if me not in room.members:
            return Refusal("unknown_member")
        self._enter(room, me)
        if self._holds(room, me):
            late = {"lease_expired_at": to_wire(room.lease_until)} if self.opening(room) else {}
            if late:
                room.lease_until, room.granted = self.now + room.lease_ttl, self.now
            return {**self._your_turn(room, "already_owner"), **late}
        if reason := self._claim_reason(room, me):
            self._grant(room, me, room.pending)
            room.presence[me].waits_until = 0
            return {**self._your_turn(room, reason), "lease_id": NEW}
        if me in self.candidates(room):
            return {
                "status": "takeover_available",
                "turn_id": room.turn,
                "room_state": self.state(room),
                "reason": self.opening(room),
                "current_owner": room.owner,
                "reserved_for": room.reserved_for,
            }
        if ms and room.presence[me].waits_until < self.now + ms:
            room.presence[me].waits_until = self.now + ms + IDLE
        return {"status": "not_yet", "cursor": str(room.seq), "room_state": self.state(room)}

    def _claim_reason(self, room: Room, me: str) -> str | None:
        if room.owner or not self.is_active(room, me):
            return None
        if room.reserved_for is None:
            return "sequence" if room.pending else "open_claim"
        if room.reserved_for != me:
            return None
        return "direct_pass" if room.pending and room.pending.directly else "sequence"

    def _your_turn(self, room: Room, reason: str) -> dict[str, Any]:
        return {
            "status": "your_turn",
            "turn_id": room.turn,
            "lease_id": room.lease,
            "handoff": room.received.handoff if room.received else None,
            "from_agent_id": room.received.by if room.received else None,
            "reason": reason,
        }

    def _grant(self, room: Room, me: str, received: Handed | None) -> None:
        room.turn += 1
        room.seq += 1
        room.owner, room.owner_pid = me, room.presence[me].pid
        room.lease_until, room.granted = self.now + room.lease_ttl, self.now
        room.received, room.pending, room.reserved_for = received, None, None

    def _holds(self, room: Room, me: str) -> bool:
        return room.owner == me and room.owner_pid not in self.dead and not self.replaced(room)

    def _fenced(self, room: Room, me: str, turn: int, lease: str) -> Refusal | None:
        """The turn is looked at before the lease."""
        seen: dict[str, object] = {
            "current_owner": room.owner,
            "current_turn_id": room.turn,
            "room_state": self.state(room),
        }
        if room.closed:
            return Refusal("room_closed")
        if turn != room.turn:
            return Refusal("turn_mismatch", seen)
        return None if self._holds(room, me) and lease == room.lease else Refusal("stale_lease", seen)

    def beat(self, room: Room, me: str, turn: int, lease: str) -> Reply:
        if refusal := self._fenced(room, me, turn, lease):
            return refusal
        room.lease_until, room.granted = self.now + room.lease_ttl, self.now
        return {"status": "ok", "turn_id": room.turn, "lease_id": lease}

    def release(self, room: Room, me: str, turn: int, lease: str, handoff: object) -> Reply:
        if refusal := self._fenced(room, me, turn, lease):
            return refusal
        chosen = self.successor(room, me)
        self._hand_over(room, me, chosen, handoff, directly=False)
        return {"status": "released", "reserved_for": chosen, "event_seq": room.seq}

    def pass_(self, room: Room, me: str, turn: int, lease: str, *, to: str, handoff: object) -> Reply:
        if refusal := self._fenced(room, me, turn, lease):
            return refusal
        if to == me:
            return Refusal("invalid_input")
        if to not in self.active(room):
            return Refusal("unknown_member", {"to_agent_id": to})
        self._hand_over(room, me, to, handoff, directly=True)
        return {"status": "passed", "reserved_for": to, "event_seq": room.seq}

    def _hand_over(self, room: Room, me: str, to: str | None, handoff: object, *, directly: bool) -> None:
        room.seq += 1
        room.owner, room.received, room.lease = None, None, ""
        room.reserved_for, room.claim_until, room.granted = to, self.now + room.claim_ttl, self.now
        room.pending = Handed(room.seq, me, directly, handoff)
        room.pointer = to or room.pointer

    def take_over(self, room: Room, me: str, turn: int, reason: str) -> Reply:
        if room.closed:
            return Refusal("room_closed")
        if turn != room.turn:
            return Refusal("turn_mismatch")
        if me not in room.members:
            return Refusal("unknown_member")
        if self.opening(room) is None:
            return Refusal("takeover_not_available")
        if me not in self.candidates(room):
            return Refusal("takeover_ineligible")
        revoked = room.owner or room.reserved_for
        self._grant(room, me, None)
        self._enter(room, me)
        return {
            "status": "your_turn",
            "turn_id": room.turn,
            "lease_id": NEW,
            "revoked_agent_id": revoked,
            "reason": reason,
        }

    def close(self, room: Room, me: str, lease: str) -> Reply:
        if room.closed:
            return Refusal("room_closed")
        if room.owner and room.owner != me:
            return Refusal("not_holder")
        if room.owner and not (self._holds(room, me) and lease == room.lease):
            return Refusal("stale_lease")
        if me not in room.members:
            return Refusal("unknown_member")
        room.seq += 1
        room.closed, room.owner, room.reserved_for = True, None, None
        return {"status": "closed", "event_seq": room.seq}

    def reorder(self, room: Room, me: str, sequence: list[str]) -> Reply:
        if room.closed:
            return Refusal("room_closed")
        if me not in room.members:
            return Refusal("unknown_member")
        if unknown := [name for name in sequence if name not in room.members]:
            return Refusal("agent_not_found", {"agent_id": unknown[0]})
        here = self.active(room)
        if len(set(sequence)) < len(sequence) or not set(here) <= set(sequence):
            return Refusal("invalid_sequence", {"members": here})
        wanted = [*sequence, *(name for name in room.members if name not in sequence)]
        changed = wanted != room.members
        room.members = wanted
        room.seq += changed
        return {"changed": changed, "sequence": sequence}

    def set_policy(self, room: Room, me: str, lease_ttl: int, claim_ttl: int, presence_ttl: int) -> Reply:
        if room.closed:
            return Refusal("room_closed")
        if me not in room.members:
            return Refusal("unknown_member")
        if room.heartbeat >= lease_ttl:
            return Refusal("invalid_policy")
        wanted = (lease_ttl, claim_ttl, presence_ttl)
        changed = (room.lease_ttl, room.claim_ttl, room.presence_ttl) != wanted
        room.lease_ttl, room.claim_ttl, room.presence_ttl = wanted
        room.seq += changed
        return {"changed": changed}
