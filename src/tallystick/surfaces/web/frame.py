"""What stands around every view of one room: its name, its place, and where its ledger ends."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.surfaces.web.asked import Asked
from tallystick.surfaces.web.snapshot import Facts, Snapshot

TABS = (
    ("", "Room"),
    ("sessions", "Sessions"),
    ("reservations", "Reservations"),
    ("jobs", "Jobs"),
    ("history", "History"),
)
"""Each view of a room and its name."""
SELECTORS = ("@all", "@peers", "@foreman", "@user")
"""Whom a message may go to besides single agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    room: Facts
    context: dict[str, object]


def of(snapshot: Snapshot, asked: Asked) -> Frame:
    room = snapshot.ask("rooms.show", room_id=asked.room_id)
    context: dict[str, object] = {
        "now": snapshot.now,
        "room": room,
        "room_id": asked.room_id,
        "head": room["head"],
        "tabs": TABS,
        "selectors": SELECTORS,
    }
    return Frame(room=room, context=context)
