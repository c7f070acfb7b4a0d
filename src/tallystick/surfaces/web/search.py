"""`/search`: everything in every room that the reader may see; and what the palette can go to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from tallystick.capabilities.messages.contract import SearchHit, SearchHits
from tallystick.capabilities.rooms.contract import Rooms, RoomSummary, RoomView
from tallystick.surfaces.web.page import TABS, PageReader, PageRequest, PageView

ROOMS = 1000
HITS = 100
PER_ROOM = 25
OFFERED = 300
"""What the palette has to choose from at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInRoom:
    room: RoomSummary
    hits: Sequence[SearchHit]
    names: Sequence[str]
    """Members that are called so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    href: str
    name: str
    kind: str


def _rooms(snapshot: PageReader, asked: PageRequest) -> list[RoomSummary]:
    """Those the reader may see; the one they came from first, open ones before closed ones."""
    if snapshot.visitor.room_id is not None:
        own = snapshot.read("rooms.list", Rooms, limit=ROOMS).rooms
        found = [room for room in own if room.room_id == snapshot.visitor.room_id]
    else:
        found = snapshot.read("rooms.list", Rooms, limit=ROOMS).rooms
    origin = asked.word("from")
    return sorted(found, key=lambda room: (room.room_id != origin, bool(room.closed_at)))


def view(snapshot: PageReader, asked: PageRequest) -> PageView:
    text = asked.word("q")[:1000]
    found: list[FoundInRoom] = []
    left = HITS
    for room in _rooms(snapshot, asked) if text else ():
        if left <= 0:
            break
        hits = snapshot.read(
            "messages.search", SearchHits, room_id=room.room_id, query=text, limit=min(left, PER_ROOM)
        ).hits
        names = [name for name in room.members if text.lower() in name.lower()]
        if hits or names or text.lower() in f"{room.title} {room.canonical_path}".lower():
            found.append(FoundInRoom(room=room, hits=hits, names=names[:20]))
            left -= len(hits)
    context: dict[str, object] = {"now": snapshot.now, "text": text, "found": found, "full": left <= 0}
    return PageView(template="search.html", context=context)


def palette(snapshot: PageReader, asked: PageRequest) -> PageView:
    """Rooms, the views of the one where the reader is, and who is in it."""
    rooms = [room for room in _rooms(snapshot, asked) if not room.closed_at]
    places = [Destination(href="/", name="Overview", kind="view")]
    here = next((room for room in rooms if room.room_id == asked.word("from")), None)
    if here:
        at = f"/rooms/{here.room_id}"
        places += [
            Destination(href=f"{at}/{name}".rstrip("/"), name=label, kind=here.title) for name, label in TABS if name
        ]
        places += [Destination(href=f"{at}/replay", name="Replay", kind=here.title)]
        members = snapshot.read("rooms.show", RoomView, room_id=here.room_id).members
        places += [
            Destination(href=f"{at}/agents/{quote(each.agent_id, safe='')}", name=each.agent_id, kind="agent")
            for each in members
        ]
    places += [Destination(href=f"/rooms/{room.room_id}", name=room.title, kind="room") for room in rooms]
    return PageView(template="palette.html", context={"places": places[:OFFERED]})
