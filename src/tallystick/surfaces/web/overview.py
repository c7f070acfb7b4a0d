"""`/`: every room with its stick, everybody who works there, and first of all what waits for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tallystick.surfaces.web import needs, people, stick
from tallystick.surfaces.web.asked import Asked, View
from tallystick.surfaces.web.needs import Need
from tallystick.surfaces.web.people import Person
from tallystick.surfaces.web.snapshot import Facts, Snapshot
from tallystick.surfaces.web.stick import Stick

ROOMS = 1000
SHOWN = 40
"""Open rooms on one page; those in trouble come first."""
PEOPLE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    room: Facts
    stick: Stick
    needs: Sequence[Need]
    people: Sequence[Person]

    @property
    def order(self) -> tuple[int, int]:
        """Trouble first, then work, then rest."""
        return -len(self.needs), {"bad": 0, "ok": 1, "warn": 2}.get(self.stick.tone, 3)


def view(snapshot: Snapshot, asked: Asked) -> View:
    rooms = snapshot.rows("rooms.list", "rooms", limit=ROOMS)
    cards = sorted((_card(snapshot, room) for room in rooms if not room["closed_at"]), key=lambda card: card.order)
    start = min(asked.number("from") or 0, len(cards))
    context: Mapping[str, object] = {
        "now": snapshot.now,
        "cards": cards[start : start + SHOWN],
        "start": start,
        "shown": SHOWN,
        "open": len(cards),
        "closed": [room for room in rooms if room["closed_at"]][:SHOWN],
        "needs": [need for card in cards for need in card.needs],
        "people": people.merged(cards)[:PEOPLE],
        "holding": sum(1 for card in cards if card.stick.facts["owner"]),
    }
    return View(template="overview.html", context=context)


def _card(snapshot: Snapshot, room: Facts) -> Card:
    state = stick.of(snapshot, room["room_id"])
    present = people.of_room(snapshot, room, state)
    return Card(room=room, stick=state, needs=needs.of_room(snapshot, room, state), people=present)
