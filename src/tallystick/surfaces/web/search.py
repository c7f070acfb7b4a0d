"""`/search`: everything in every room that the reader may see; and what the palette can go to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from tallystick.capabilities.agents.contract import Agents
from tallystick.capabilities.jobs.runners_contract import Runners
from tallystick.capabilities.messages.contract import SearchHit, SearchHits
from tallystick.capabilities.rooms.contract import Rooms, RoomSummary
from tallystick.surfaces.web.page import TABS, PageReader, PageRequest, PageView

ROOMS = 1000
HITS = 100
PER_ROOM = 25
NAMED = 20
RUNNERS = 200
_SHORT = re.compile(r"\b(JOB|CARD|TASK)-(\d{1,9})\b", re.IGNORECASE)
_NUMBER = re.compile(r"@?(\d{1,15})")
OFFERED = 300
"""What the palette has to choose from at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    href: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInRoom:
    room: RoomSummary
    hits: Sequence[SearchHit]
    places: Sequence[Destination]
    """Agents and runners that are called so, and the event that has this number."""


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
    query = _SHORT.sub(lambda found: f"{found[1]}-{int(found[2]):03d}", text)
    found: list[FoundInRoom] = []
    left = HITS
    for room in _rooms(snapshot, asked) if text else ():
        if left <= 0:
            break
        hits = snapshot.read(
            "messages.search", SearchHits, room_id=room.room_id, query=query, limit=min(left, PER_ROOM)
        ).hits
        hits = sorted(hits, key=lambda hit: hit.ref != query.upper())
        places = _places(snapshot, room, text, asked.word("from"))
        if hits or places or text.lower() in f"{room.title} {room.canonical_path}".lower():
            found.append(FoundInRoom(room=room, hits=hits, places=places))
            left -= len(hits)
    context: dict[str, object] = {"now": snapshot.now, "text": text, "found": found, "full": left <= 0}
    return PageView(template="search.html", context=context)


def _places(snapshot: PageReader, room: RoomSummary, text: str, origin: str) -> list[Destination]:
    """What has a page of its own and is no text; who is in a closed room is found by what they said."""
    if room.closed_at:
        return []
    every = [*_agents(snapshot, room.room_id), *_runners(snapshot, room.room_id)]
    found = [each for each in every if text.lower() in each.name.lower()][:NAMED]
    numbered = _NUMBER.fullmatch(text) if room.room_id == origin else None
    if numbered:
        seq = int(numbered[1])
        found.append(Destination(href=f"/rooms/{room.room_id}/event/{seq}", name=f"event {seq}", kind="event"))
    return found


def _agents(snapshot: PageReader, room_id: str) -> Iterator[Destination]:
    for each in snapshot.read("agents.list", Agents, room_id=room_id).agents:
        names = dict.fromkeys(name for name in (each.name, each.agent_id) if name)
        href = f"/rooms/{room_id}/agents/{quote(each.agent_id, safe='')}"
        yield Destination(href=href, name=" ".join(names), kind="agent")


def _runners(snapshot: PageReader, room_id: str) -> Iterator[Destination]:
    for each in snapshot.read("runners.list", Runners, room_id=room_id, limit=RUNNERS).runners:
        href = f"/rooms/{room_id}/runners/{quote(each.runner_id, safe='')}"
        yield Destination(href=href, name=each.runner_id, kind="runner")


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
        places += [*_agents(snapshot, here.room_id), *_runners(snapshot, here.room_id)]
    places += [Destination(href=f"/rooms/{room.room_id}", name=room.title, kind="room") for room in rooms]
    return PageView(template="palette.html", context={"places": places[:OFFERED]})
