"""A room's stick in a few words: who holds it, until when, who is next, and whether anybody has to step in."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.surfaces.web.snapshot import Facts, Snapshot

TROUBLE = frozenset({"stale_owner", "owner_gone", "recipient_gone"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stick:
    facts: Facts
    """What `turns.state` says."""

    @property
    def next(self) -> str | None:
        return self.facts["next"]

    @property
    def tone(self) -> str:
        """ok, warn, bad or off, for the dot beside it."""
        state = self.facts["state"]
        if state in TROUBLE or self.facts["takeover"]:
            return "bad"
        return {"owned": "ok", "reserved": "warn"}.get(state, "off")

    @property
    def failed(self) -> str | None:
        """Who is to be taken over from, while that is open."""
        if self.facts["takeover"] is None:
            return None
        return self.facts["owner"] or self.facts["reserved_for"]


def of(snapshot: Snapshot, room_id: str) -> Stick:
    return Stick(facts=snapshot.ask("turns.state", room_id=room_id))
