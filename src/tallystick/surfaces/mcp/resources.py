"""Resources: what a person or a host may attach to a conversation without spending a tool call.

`tally://rooms` lists the rooms reachable from the workspace; each has its state and its recent handoffs below that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

import msgspec
from mcp_types import ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from tallystick.kernel.errors import NotFound
from tallystick.surfaces.mcp.routing import Ask

ROOMS = "tally://rooms"
_JSON = "application/json"
_IN_A_ROOM = re.compile(r"tally://rooms/([^/?#]+)/(state|handoffs)")
_ABOUT: Mapping[str, str] = {
    "state": "Whose turn it is, who comes next and whether the stick may be taken over.",
    "handoffs": "The recent handoffs, word for word, oldest first.",
}
_RECENT = 50


class ResourceNotFound(NotFound):
    """There is no such resource."""

    hint = "Read tally://rooms, tally://rooms/{room_id}/state or tally://rooms/{room_id}/handoffs."


TEMPLATES = [
    ResourceTemplate(
        name=f"room_{part}", uri_template=f"{ROOMS}/{{room_id}}/{part}", description=about, mime_type=_JSON
    )
    for part, about in _ABOUT.items()
]


async def listed(ask: Ask, workspace: str | None) -> list[Resource]:
    rooms = Resource(name="rooms", uri=ROOMS, description="The rooms reachable from the workspace.", mime_type=_JSON)
    return [rooms, *(each for room in await _rooms(ask, workspace) for each in _in_room(room))]


def _in_room(room: Mapping[str, object]) -> list[Resource]:
    room_id, title = str(room["room_id"]), str(room["title"])
    return [
        Resource(
            name=f"{title}: {part}",
            uri=f"{ROOMS}/{quote(room_id, safe='')}/{part}",
            description=about,
            mime_type=_JSON,
        )
        for part, about in _ABOUT.items()
    ]


async def read(uri: str, ask: Ask, workspace: str | None) -> ReadResourceResult:
    text = msgspec.json.encode(await _content(uri, ask, workspace)).decode()
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=_JSON, text=text)])


async def _content(uri: str, ask: Ask, workspace: str | None) -> Mapping[str, object]:
    if uri == ROOMS:
        return {"rooms": await _rooms(ask, workspace)}
    found = _IN_A_ROOM.fullmatch(uri)
    if found is None:
        raise ResourceNotFound(f"There is no resource '{uri[:200]}'.", uri=uri[:200])
    room_id = unquote(found[1])
    if found[2] == "state":
        return (await ask("turns.state", {"room_id": room_id})).to_data()
    history = await ask("turns.history", {"room_id": room_id, "newest": True, "limit": _RECENT})
    events: Sequence[Mapping[str, object]] = history.to_data()["events"]
    return {"room_id": room_id, "handoffs": [event for event in events if event["handoff"]]}


async def _rooms(ask: Ask, workspace: str | None) -> Sequence[Mapping[str, object]]:
    answer = await ask("rooms.list", {} if workspace is None else {"context_path": workspace})
    rooms: Sequence[Mapping[str, object]] = answer.to_data()["rooms"]
    return rooms
