"""What waits for the person, as the page lists it: the hub decides what and in which order (`attention.list`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from tallystick.capabilities.attention.contract import SAID_LIMIT, WaitingItem, WaitingItems, WaitingKind
from tallystick.capabilities.rooms.contract import RoomView
from tallystick.surfaces.web.page import PageReader

SHOWN = 20
"""Items on one page; the rest is a link away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    item: WaitingItem
    room: RoomView

    @property
    def id(self) -> str:
        """Its element: the same as long as it waits."""
        named = f"{self.item.room_id} {self.item.item}"
        return f"need-{hashlib.blake2s(named.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"

    @property
    def tone(self) -> str:
        return {"!": "bad", "": "quiet"}.get(self.item.sign, "warn")

    @property
    def cut(self) -> bool:
        return len(self.item.said) >= SAID_LIMIT

    @property
    def href(self) -> str:
        """Where it is told at length."""
        at, item = f"/rooms/{self.item.room_id}", self.item
        if item.job:
            return f"{at}/jobs/{quote(item.job)}"
        match item.kind:
            case WaitingKind.STICK | WaitingKind.TAKEOVER:
                return f"{at}/stick"
            case WaitingKind.PERMISSION:
                return f"{at}/event/{item.seq}"
            case WaitingKind.INCURSION:
                return f"{at}/reservations?path={quote(item.path or '')}"
            case _:
                return f"{at}/sessions?at={item.seq}#e{item.seq}" if item.seq else at


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomNeeds:
    """What waits in one room."""

    needs: Sequence[Need]
    count: int
    unread: int


def needs_in(snapshot: PageReader, room: RoomView) -> RoomNeeds:
    return needs_of(room, snapshot.read("attention.list", WaitingItems, room_id=room.room_id))


def needs_of(room: RoomView, found: WaitingItems) -> RoomNeeds:
    return RoomNeeds(needs=[Need(item=item, room=room) for item in found.items], count=found.count, unread=found.unread)


def by_urgency(needs: Iterable[Need]) -> list[Need]:
    """Over all rooms: the most urgent first, whatever room it is in."""
    return sorted(needs, key=lambda need: need.item.order)
