"""Which paths somebody else has reserved, asked of every room on the way to each of them.

The hooks of harnesses and the git guard decide by this alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tallystick.capabilities.agents.model import Liveness
from tallystick.capabilities.reservations.contract import PATHS_LIMIT, Checked
from tallystick.capabilities.reservations.model import Verdict
from tallystick.capabilities.rooms.contract import Rooms
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import to_wire
from tallystick.kernel.errors import NotFound

ROOMS_LIMIT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Trespass:
    """One path and the reservation it would run into."""

    path: str
    room_id: str
    held_by: str
    name: str
    until: str
    active: bool
    """Whether the holder is still at work; otherwise it has fallen silent or is gone."""

    @property
    def holder(self) -> str:
        return self.held_by if self.name == self.held_by else f"{self.name} ({self.held_by})"


def found(hub: Hub, caller: Caller, paths: Sequence[str], *, folders: Iterable[str] = ()) -> list[Trespass]:
    """What of these absolute paths is taken. `folders` are further places whose rooms have a say."""
    by_room: dict[str, list[str]] = {}
    always = {room_id for folder in folders for room_id in rooms(hub, caller, folder)}
    near = {folder: rooms(hub, caller, folder) for folder in {os.path.dirname(path) for path in paths}}  # noqa: PTH120
    for path in paths:
        for room_id in dict.fromkeys([*near[os.path.dirname(path)], *always]):  # noqa: PTH120
            by_room.setdefault(room_id, []).append(path)
    return [
        each
        for room_id, inside in by_room.items()
        for at in range(0, len(inside), PATHS_LIMIT)
        for each in _taken(hub, caller, room_id, inside[at : at + PATHS_LIMIT])
    ]


def rooms(hub: Hub, caller: Caller, folder: str) -> list[str]:
    """The open rooms from a folder up to its workspace's root; of a folder that is not there, of the next above it."""
    here = Path(folder)
    while not here.is_dir() and here != here.parent:
        here = here.parent
    try:
        answer = hub.call("rooms.list", {"context_path": str(here), "limit": ROOMS_LIMIT}, caller)
    except NotFound:
        return []
    return [room.room_id for room in cast("Rooms", answer).rooms]


def _taken(hub: Hub, caller: Caller, room_id: str, paths: Sequence[str]) -> Iterable[Trespass]:
    answer = cast("Checked", hub.call("reservations.check", {"room_id": room_id, "paths": list(paths)}, caller))
    for each in answer.paths:
        if each.verdict is Verdict.TAKEN and each.held_by and each.until is not None:
            yield Trespass(
                path=each.path,
                room_id=room_id,
                held_by=each.held_by,
                name=each.name or each.held_by,
                until=to_wire(each.until),
                active=each.liveness is Liveness.ACTIVE,
            )
