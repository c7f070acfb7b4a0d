"""`/`: every room with its stick, everybody who works there, and first of all what waits for a person."""

from __future__ import annotations

from collections.abc import Mapping

from tallystick.surfaces.web import people
from tallystick.surfaces.web.asked import Asked, View
from tallystick.surfaces.web.glances import Glances
from tallystick.surfaces.web.snapshot import Snapshot

SHOWN = 15
"""Open rooms on one page; those in trouble come first."""
PEOPLE = 15


class Overview:
    def __init__(self) -> None:
        self._glances = Glances()

    def view(self, snapshot: Snapshot, asked: Asked) -> View:
        every = self._glances.cards(snapshot)
        cards = sorted((card for card in every if not card.room["closed_at"]), key=lambda card: card.order)
        present = people.merged(cards)
        start = min(asked.number("from") or 0, len(cards))
        context: Mapping[str, object] = {
            "now": snapshot.now,
            "cards": cards[start : start + SHOWN],
            "start": start,
            "shown": SHOWN,
            "open": len(cards),
            "closed": [card.room for card in every if card.room["closed_at"]][:SHOWN],
            "needs": [need for card in cards for need in card.needs],
            "people": present[:PEOPLE],
            "others": max(0, len(present) - PEOPLE),
            "holding": sum(1 for card in cards if card.stick.facts["owner"]),
        }
        return View(template="overview.html", context=context)
