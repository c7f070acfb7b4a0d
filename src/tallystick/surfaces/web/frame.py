"""What stands around every view of one room: its name, its place, and where its ledger ends."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.hub import registry
from tallystick.surfaces.web.asked import Asked
from tallystick.surfaces.web.snapshot import Facts, Snapshot

TABS = (
    ("", "Room", "rooms.show"),
    ("sessions", "Sessions", "messages.send"),
    ("reservations", "Reservations", "reservations.status"),
    ("jobs", "Jobs", "jobs.radar"),
    ("history", "History", "events.list"),
)
"""Each view of a room, its name, and the operation it cannot do without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    room: Facts
    context: dict[str, object]


def of(snapshot: Snapshot, asked: Asked) -> Frame:
    room = snapshot.ask("rooms.show", room_id=asked.room_id)
    tabs = [(name, label) for name, label, operation in TABS if operation in registry.OPERATIONS]
    context: dict[str, object] = {
        "now": snapshot.now,
        "room": room,
        "room_id": asked.room_id,
        "head": room["head"],
        "tabs": tabs,
    }
    return Frame(room=room, context=context)
