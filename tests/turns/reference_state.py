"""The state in the model of the stick, and what anybody can see of it; written from the specification alone."""

from __future__ import annotations

from dataclasses import dataclass, field

MINUTE = 60_000
IDLE = MINUTE
"""One that was not seen for so long is idle; and so long after its wait a member still counts as waiting."""


@dataclass
class Presence:
    seen: int
    pid: int
    waits_until: int = 0


@dataclass
class Handed:
    """A release or pass that nobody has claimed yet."""

    seq: int
    by: str
    directly: bool
    handoff: object


@dataclass
class Room:
    """One room: who is in it, who holds the stick, and until when."""

    seq: int = 0
    closed: bool = False
    members: list[str] = field(default_factory=list[str])
    only_seen: set[str] = field(default_factory=set[str])
    """The members that have no place in the turn order: they never asked for one."""
    presence: dict[str, Presence] = field(default_factory=dict[str, Presence])
    turn: int = 0
    owner: str | None = None
    owner_pid: int = 0
    received: Handed | None = None
    lease: str = ""
    lease_until: int = 0
    reserved_for: str | None = None
    claim_until: int = 0
    granted: int = 0
    """When its deadline was set, by the clock of that time."""
    pending: Handed | None = None
    pointer: str | None = None
    lease_ttl: int = 45 * MINUTE
    heartbeat: int = 5 * MINUTE
    claim_ttl: int = 20 * MINUTE
    presence_ttl: int = 240 * MINUTE


@dataclass
class Sight:
    """What can be seen of a room at a moment, with some processes dead."""

    now: int
    dead: set[int] = field(default_factory=set[int])

    def active(self, room: Room) -> list[str]:
        return [name for name in room.members if self.is_active(room, name)]

    def is_active(self, room: Room, name: str) -> bool:
        presence = room.presence[name]
        return self.now - presence.seen < room.presence_ttl and presence.pid not in self.dead

    def waiting(self, room: Room) -> list[str]:
        """Who wants the stick."""
        return [name for name in self.active(room) if name != room.owner and self.waits(room, name)]

    def waits(self, room: Room, name: str) -> bool:
        return self.now < room.presence[name].waits_until

    def successor(self, room: Room, holder: str) -> str | None:
        """The next active member of the turn order; but nobody idle while another of them waits."""
        here = room.members.index(holder)
        others = room.members[here + 1 :] + room.members[:here]
        line = [name for name in others if self.is_active(room, name) and name not in room.only_seen]
        if any(self.waits(room, name) for name in line):
            line = [name for name in line if self.waits(room, name) or not self.is_idle(room, name)]
        return line[0] if line else None

    def is_idle(self, room: Room, name: str) -> bool:
        return self.now - room.presence[name].seen >= IDLE

    def upcoming(self, room: Room) -> str | None:
        """Whom the stick is kept for, or would be were it released now."""
        return self.successor(room, room.owner) if room.owner else room.reserved_for

    def set_back(self, room: Room) -> bool:
        """Whether the deadline was set more than a minute ahead of the present clock."""
        return room.granted > self.now + 60_000

    def opening(self, room: Room) -> str | None:
        """Why somebody may take over; death beats any timeout."""
        if room.owner:
            if room.owner_pid in self.dead:
                return "owner_gone"
            return "owner_timeout" if self.now >= room.lease_until or self.set_back(room) else None
        if room.reserved_for:
            if room.presence[room.reserved_for].pid in self.dead:
                return "recipient_gone"
            return "claim_timeout" if self.now >= room.claim_until or self.set_back(room) else None
        return None

    def state(self, room: Room) -> str:
        """The most actionable state first."""
        if room.closed:
            return "closed"
        by_opening = {"owner_gone": "owner_gone", "owner_timeout": "stale_owner", "recipient_gone": "recipient_gone"}
        if named := by_opening.get(self.opening(room) or ""):
            return named
        if room.owner:
            return "owned"
        if not self.active(room):
            return "dormant"
        return "reserved" if room.reserved_for else "idle"

    def replaced(self, room: Room) -> bool:
        """Whether a newer process came under the owner's name: the turn is not that one's."""
        return room.owner is not None and room.presence[room.owner].pid != room.owner_pid

    def candidates(self, room: Room) -> list[str]:
        """Who may take over; after a missed claim not the one who gave it away, while somebody else can."""
        opening = self.opening(room)
        if opening is None:
            return []
        own = opening == "owner_gone" or self.replaced(room)
        expected = {room.reserved_for} if own else {room.owner, room.reserved_for}
        able = [name for name in self.active(room) if name not in expected]
        if opening == "claim_timeout" and room.pending:
            return [name for name in able if name != room.pending.by] or able
        return able
