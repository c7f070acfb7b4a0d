"""Which paths somebody else has reserved: a quick look at the embedded store, and the answer of every room on the way.

The hooks of harnesses and the git guard decide by this alone. A hook that runs before every edit looks first: that
reads a few columns of two tables and imports nothing but the driver. It may say "perhaps" too often, never too seldom;
after "perhaps" the rooms are asked, each of them on the way to each of the paths.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Protocol, TypeAlias

    class Answered(Protocol):
        @property
        def data(self) -> Mapping[str, Any]: ...

    Asking: TypeAlias = Callable[[str, Mapping[str, object]], Answered]
    """Any way to call an operation."""
    from typing import Protocol

    class QuickReader(Protocol):
        def execute(self, statements: str, bindings: Sequence[str | int], /) -> QuickRows: ...

    class QuickRows(Protocol):
        def fetchall(self) -> list[tuple[str, ...]]: ...


ROOMS_LIMIT = 50
PATHS_LIMIT = 1000
"""So many paths `reservations.check` takes in one call."""

BUSY_MS = 100

_LOST = "SELECT 1 FROM lost_turns WHERE room_id = ?1 AND agent_id = ?2"

_ROOMS = (
    "SELECT DISTINCT room_id, root FROM scopes WHERE closed_at IS NULL AND root IN (SELECT value FROM json_each(?))"
)
_OTHERS = """
SELECT 1 FROM reservations
WHERE room_id = ?1 AND state = 'active' AND folded IN (SELECT value FROM json_each(?2))
    AND until > ?3 AND agent_id <> ?4
UNION ALL
SELECT 1 FROM reservations
WHERE room_id = ?1 AND state = 'active' AND folded >= ?5 AND folded < ?6
    AND until > ?3 AND agent_id <> ?4
LIMIT 1
"""


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
    from tallystick.kernel.errors import NotFound

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


def concerns_nobody(database: str, paths: Sequence[str], agent_id: str | None, now: int) -> bool:
    """Whether it is certain that nobody but this agent has reserved anything of these paths, and that it lost no turn.

    Without an agent it is certain only where no room is.
    """
    import apsw

    real = list(dict.fromkeys(each for path in paths for each in (os.path.realpath(path), path)))
    try:
        store = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
        store.set_busy_timeout(BUSY_MS)
        reader: QuickReader = store  # pyright: ignore[reportAssignmentType] - the driver's own types are partly unknown
        try:
            rooms = reader.execute(_ROOMS, (_json({each for path in real for each in _above(path)}),)).fetchall()
            return not rooms or (
                agent_id is not None
                and not any(reader.execute(_LOST, (room_id, agent_id)).fetchall() for room_id, _ in rooms)
                and not any(_reserved(reader, rooms, path, agent_id, now) for path in real)
            )
        finally:
            store.close()
    except apsw.Error:
        return False


def _reserved(reader: QuickReader, rooms: Sequence[tuple[str, ...]], path: str, agent_id: str, now: int) -> bool:
    for room_id, root in rooms:
        inside = root.rstrip("/") + "/"
        if not f"{path}/".startswith(inside):
            continue
        key = path[len(inside) :]
        if not key.isascii():
            return True  # How other letters are folded is for the rules to say.
        key = key.lower()
        first, beyond = (f"{key}/", f"{key}0") if key else ("\x01", "\U0010ffff")
        keys = _json({"", key, *_above(key)})
        if reader.execute(_OTHERS, (room_id, keys, now, agent_id, first, beyond)).fetchall():
            return True
    return False


def _above(path: str) -> Iterable[str]:
    """The path and the folders above it."""
    while path:
        yield path
        above = path.rpartition("/")[0]
        path = above or ("/" if path != "/" and path.startswith("/") else "")


def _json(texts: Iterable[str]) -> str:
    import json

    return json.dumps(list(texts))
