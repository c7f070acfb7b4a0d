"""Which paths somebody else has reserved, asked of every room on the way to each of them.

The hooks of harnesses and the git guard decide by this alone.
"""

from __future__ import annotations

import os

from tallystick.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Protocol, TypeAlias

    class Answered(Protocol):
        @property
        def data(self) -> Mapping[str, Any]: ...

    Asking: TypeAlias = Callable[[str, Mapping[str, object]], Answered]
    """Any way to call an operation."""

ROOMS_LIMIT = 50
PATHS_LIMIT = 1000
"""So many paths `reservations.check` takes in one call."""


class ReservedByOther:
    """One path and the reservation it would run into."""

    __slots__ = ("active", "held_by", "name", "path", "reserved", "room_id", "until")

    def __init__(self, room_id: str, row: Mapping[str, object]) -> None:
        self.path, self.room_id = str(row["path"]), room_id
        reserved = str(row.get("reserved") or "").rstrip("/*")
        self.reserved = self.path if f"/{reserved}/".replace("//", "/") in f"{self.path}/" else reserved
        """What to name: of a folder that was asked about, only what is reserved in it."""
        self.held_by = str(row["held_by"])
        self.name = str(row.get("name") or self.held_by)
        self.until = str(row["until"])
        self.active = row.get("liveness") == "active"
        """Whether the holder is still at work; otherwise it has fallen silent or is gone."""

    @property
    def holder(self) -> str:
        return self.held_by if self.name == self.held_by else f"{self.name} ({self.held_by})"


def found(ask: Asking, paths: Sequence[str], *, folders: Iterable[str] = ()) -> list[ReservedByOther]:
    """What of these absolute paths is taken. `folders` are further places whose rooms have a say."""
    by_room: dict[str, list[str]] = {}
    known: dict[str, list[str]] = {}

    def near(folder: str) -> list[str]:
        if folder not in known:
            known[folder] = rooms(ask, folder)
        return known[folder]

    always = list(dict.fromkeys(room_id for folder in folders for room_id in near(folder)))
    for path in paths:
        for room_id in dict.fromkeys([*near(os.path.dirname(path)), *always]):  # noqa: PTH120
            by_room.setdefault(room_id, []).append(path)
    return [
        each
        for room_id, inside in by_room.items()
        for at in range(0, len(inside), PATHS_LIMIT)
        for each in _taken(ask, room_id, inside[at : at + PATHS_LIMIT])
    ]


def rooms(ask: Asking, folder: str) -> list[str]:
    """The open rooms from a folder up to its workspace's root; of a folder that is not there, of the next above it."""
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):  # noqa: PTH112, PTH120
        folder = os.path.dirname(folder)  # noqa: PTH120
    try:
        answer = ask("rooms.list", {"context_path": folder, "limit": ROOMS_LIMIT}).data
    except NotFound:
        return []
    found: list[Mapping[str, object]] = answer["rooms"]
    return [str(room["room_id"]) for room in found]


def _taken(ask: Asking, room_id: str, paths: Sequence[str]) -> Iterable[ReservedByOther]:
    answer = ask("reservations.check", {"room_id": room_id, "paths": list(paths)}).data
    rows: list[Mapping[str, object]] = answer["paths"]
    for row in rows:
        if row["verdict"] == "taken" and row.get("held_by") and row.get("until") is not None:
            yield ReservedByOther(room_id, row)
