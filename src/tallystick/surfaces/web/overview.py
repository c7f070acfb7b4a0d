"""`/`: every room with its stick, everybody who works there, and first of all what waits for a person.

A room's card is read again only where something may have changed: it is true as long as its room has no new event and
no deadline has passed. Presence and renewed leases leave no event, so a card of an open room is never older than a few
seconds either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tallystick.capabilities.agents.contract import Agents
from tallystick.capabilities.rooms.contract import RoomView
from tallystick.hub.maintenance import DemoRooms
from tallystick.kernel.clock import Instant
from tallystick.ledger.contract import Heads, HeadView
from tallystick.surfaces.web import page
from tallystick.surfaces.web.page import (
    PageReader,
    PageRequest,
    PageView,
    RoomNeeds,
    by_urgency,
    needs_in,
    place_of,
    standing,
)
from tallystick.surfaces.web.people import Person, everybody, members_in, with_words
from tallystick.surfaces.web.room import StickStatus, stick_of

ROOMS = 1000
FRESH_MS = 10_000
KEPT = 5_000
"""Cards that are remembered at most, of all who look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomCard:
    room: RoomView
    stick: StickStatus
    waiting: RoomNeeds
    people: Sequence[Person]
    seq: int
    at: Instant

    @property
    def order(self) -> tuple[int, int]:
        """Trouble first, then work, then rest."""
        return -self.waiting.count, {"bad": 0, "ok": 1, "warn": 2}.get(self.stick.tone, 3)

    def holds(self, seq: int, now: Instant) -> bool:
        """Whether what it says is still true."""
        if seq != self.seq:
            return False
        if self.room.closed_at:
            return True
        ends = (self.stick.facts.lease_expires_at, self.stick.facts.claim_expires_at)
        passed = any(self.at < end <= now for end in ends if end)
        return not passed and 0 <= now - self.at < FRESH_MS


class RoomCards:
    def __init__(self) -> None:
        self._cards: dict[tuple[str, str], RoomCard] = {}

    def cards(self, snapshot: PageReader) -> list[RoomCard]:
        """A card of every room, those that moved last first."""
        if len(self._cards) > KEPT:
            self._cards.clear()
        return [self._card(snapshot, head) for head in snapshot.read("events.heads", Heads, limit=ROOMS).heads]

    def _card(self, snapshot: PageReader, head: HeadView) -> RoomCard:
        # What needs a person depends on who looks.
        key = (snapshot.me, head.room_id)
        known = self._cards.get(key)
        if known is None or not known.holds(head.seq, snapshot.now):
            known = self._cards[key] = _look(snapshot, head)
        return known


def _look(snapshot: PageReader, head: HeadView) -> RoomCard:
    room = snapshot.read("rooms.show", RoomView, room_id=head.room_id)
    state = stick_of(snapshot, head.room_id)
    agents = [] if room.closed_at else snapshot.read("agents.list", Agents, room_id=head.room_id).agents
    return RoomCard(
        room=room,
        stick=state,
        waiting=needs_in(snapshot, room),
        people=members_in(room, state.facts, agents),
        seq=head.seq,
        at=snapshot.now,
    )


SHOWN = 15
"""Open rooms on one page; those in trouble come first."""
PEOPLE = 15


class Overview:
    def __init__(self, demo: DemoRooms | None) -> None:
        self._cards = RoomCards()
        self._demo = demo

    def view(self, snapshot: PageReader, asked: PageRequest) -> PageView:
        every = self._cards.cards(snapshot)
        cards = sorted((card for card in every if not card.room.closed_at), key=lambda card: card.order)
        present = everybody(cards)
        start = min(asked.number("from") or 0, len(cards))
        context: Mapping[str, object] = {
            **_inbox(snapshot, asked, cards),
            "cards": cards[start : start + SHOWN],
            "start": start,
            "shown": SHOWN,
            "open": len(cards),
            "closed": [card.room for card in every if card.room.closed_at][:SHOWN],
            "people": with_words(snapshot, present[:PEOPLE], {}),
            "others": max(0, len(present) - PEOPLE),
            "demo": self._demo is not None and self._demo.there,
            "holding": sum(1 for card in cards if card.stick.facts.owner),
            "standing": standing((card.stick.facts for card in cards), snapshot.me),
        }
        return PageView(template="overview.html", context=context)

    def waiting(self, snapshot: PageReader, asked: PageRequest) -> PageView:
        """What waits in all rooms and nothing else: for whoever is at another view."""
        cards = [card for card in self._cards.cards(snapshot) if not card.room.closed_at]
        return PageView(template="waiting.html", context=_inbox(snapshot, asked, cards))


def _inbox(snapshot: PageReader, asked: PageRequest, cards: Sequence[RoomCard]) -> dict[str, object]:
    waiting = by_urgency(need for card in cards for need in card.waiting.needs)
    shown = asked.number("needs") or page.NEEDS_SHOWN
    return {
        "now": snapshot.now,
        "needs": waiting[:shown],
        "needed": sum(card.waiting.count for card in cards),
        "more": len(waiting) > shown,
        "places": {card.room.room_id: place_of(card.room.room_id, card.people) for card in cards},
        "names": {card.room.room_id: {each.agent_id: each.name for each in card.people if each.name} for card in cards},
    }
