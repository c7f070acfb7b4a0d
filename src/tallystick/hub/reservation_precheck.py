"""A quick check of the embedded store, for hooks that run before every edit: may these paths concern anybody else?

It reads a few columns of two tables and imports nothing but the driver. It may say "perhaps" too often, never too
seldom; after "perhaps" `reservation_check` decides by the rules.
"""

from __future__ import annotations

import os

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    class Reader(Protocol):
        def execute(self, statements: str, bindings: Sequence[str | int], /) -> Rows: ...

    class Rows(Protocol):
        def fetchall(self) -> list[tuple[str, ...]]: ...


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


def concerns_nobody(database: str, paths: Sequence[str], agent_id: str | None, now: int) -> bool:
    """Whether it is certain that nobody but this agent has reserved anything of these paths, and that it lost no turn.

    Without an agent it is certain only where no room is.
    """
    real = list(dict.fromkeys(each for path in paths for each in (os.path.realpath(path), path)))
    try:
        store = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
        store.set_busy_timeout(BUSY_MS)
        reader: Reader = store  # pyright: ignore[reportAssignmentType] - the driver's own types are partly unknown
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


def _reserved(reader: Reader, rooms: Sequence[tuple[str, ...]], path: str, agent_id: str, now: int) -> bool:
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
