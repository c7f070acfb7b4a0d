"""What the overview knows of each room, looked up again only where something may have changed.

A card is true as long as its room has no new event and no deadline has passed. Presence and renewed leases leave no
event, so a card of an open room is never older than a few seconds either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tallystick.kernel.clock import Instant
from tallystick.surfaces.web import needs, people, stick, words
from tallystick.surfaces.web.needs import Need
from tallystick.surfaces.web.people import Person
from tallystick.surfaces.web.snapshot import Facts, Snapshot
from tallystick.surfaces.web.stick import Stick

ROOMS = 1000
FRESH_MS = 10_000
KEPT = 5_000
"""Cards that are remembered at most, of all who look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    room: Facts
    stick: Stick
    needs: Sequence[Need]
    people: Sequence[Person]
    seq: int
    at: Instant

    @property
    def order(self) -> tuple[int, int]:
        """Trouble first, then work, then rest."""
        return -len(self.needs), {"bad": 0, "ok": 1, "warn": 2}.get(self.stick.tone, 3)

    def holds(self, seq: int, now: Instant) -> bool:
        """Whether what it says is still true."""
        if seq != self.seq:
            return False
        if self.room["closed_at"]:
            return True
        ends = [self.stick.facts[name] for name in ("lease_expires_at", "claim_expires_at")]
        passed = any(self.at < words.instant(end) <= now for end in ends if end)
        return not passed and 0 <= now - self.at < FRESH_MS


class Glances:
    def __init__(self) -> None:
        self._cards: dict[tuple[str, str], Card] = {}

    def cards(self, snapshot: Snapshot) -> list[Card]:
        """A card of every room, those that moved last first."""
        if len(self._cards) > KEPT:
            self._cards.clear()
        return [self._card(snapshot, head) for head in snapshot.rows("events.heads", "heads", limit=ROOMS)]

    def _card(self, snapshot: Snapshot, head: Facts) -> Card:
        # What needs a person depends on who looks.
        key = (snapshot.me, head["room_id"])
        known = self._cards.get(key)
        if known is None or not known.holds(head["seq"], snapshot.now):
            known = self._cards[key] = _look(snapshot, head)
        return known


def _look(snapshot: Snapshot, head: Facts) -> Card:
    room = snapshot.ask("rooms.show", room_id=head["room_id"])
    state = stick.of(snapshot, head["room_id"])
    closed = bool(room["closed_at"])
    return Card(
        room=room,
        stick=state,
        needs=[] if closed else needs.of_room(snapshot, room, state),
        people=[] if closed else people.of_room(snapshot, room, state),
        seq=head["seq"],
        at=snapshot.now,
    )
