"""What a hook leaves for the next ones of its session: who its agent is, and how far it has been told what goes on.

The agent is remembered for a minute, so that most hooks need not find out. The stamp counts only while the very process
it names is above us; when it has grown old the next hook goes the long way, which also shows that the agent is still
there. How far a session was told is mostly looked up in one column of one row of the embedded store. On PostgreSQL, and
where the session has not been told anything yet, the hook asks at most every few seconds.
"""

from __future__ import annotations

import os
from binascii import crc32
from contextlib import suppress
from time import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class HeadReader(Protocol):
        def execute(self, statements: str, bindings: Sequence[str], /) -> HeadRows: ...

    class HeadRows(Protocol):
        def fetchall(self) -> list[tuple[int, ...]]: ...


FRESH_SECONDS = 60
KEPT_SECONDS = 24 * 3600
_LEVELS = 16

PAUSE_SECONDS = 5
"""So long a session hears nothing more after it was told something, or where the store cannot be looked at."""
BUSY_MS = 100


def remembered_agent(folder: str, session: str) -> str | None:
    """The agent of this session; None when there is no fresh stamp of a process above this one."""
    try:
        with open(_agent_file(folder, session), encoding="utf-8") as file:  # noqa: PTH123
            fresh = 0 <= time() - os.fstat(file.fileno()).st_mtime < FRESH_SECONDS
            name, pid, started_at = file.read().split("\n")[:3]
    except (OSError, ValueError):
        return None
    return name if fresh and _is_above(pid, started_at) else None


def remember_agent(folder: str, session: str, name: str, pid: int, started_at: str) -> None:
    path = _agent_file(folder, session)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
    part = f"{path}.{os.getpid()}"
    with open(part, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"{name}\n{pid}\n{started_at}\n")
    os.replace(part, path)  # noqa: PTH105


def forget_old_agents(folder: str) -> None:
    """Remove the stamps of sessions that are long over."""
    try:
        for entry in os.scandir(f"{folder}/hooks"):
            if time() - entry.stat().st_mtime > KEPT_SECONDS:
                os.unlink(entry.path)  # noqa: PTH108
    except OSError:
        return  # There are none, or another hook was faster.


def _agent_file(folder: str, session: str) -> str:
    key = f"{os.environ.get('TALLYSTICK_AGENT', '')} {session}"
    # Two sessions may share a name: then each finds that the other's process is not above it.
    return f"{folder}/hooks/{crc32(key.encode('utf-8', 'surrogatepass')):08x}"


def _is_above(pid: str, started_at: str) -> bool:
    """Whether that exact process is an ancestor of this one, as far as /proc can tell."""
    above = str(os.getppid())
    for _ in range(_LEVELS):
        try:
            with open(f"/proc/{above}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return False
        if above == pid:
            return fields[19] == started_at
        above = fields[1]
    return False


class ToldSoFar:
    """What one session has been told."""

    __slots__ = ("at", "notices", "owed", "room_id", "seq")

    def __init__(self, room_id: str = "", seq: int = 0, notices: str = "", owed: int = 0, at: float = 0.0) -> None:
        self.room_id, self.seq = room_id, seq
        self.notices = notices
        """A mark of the notices that were told last."""
        self.owed = owed
        """The newest message whose missing ack kept the agent from stopping, once."""
        self.at = at


def told_so_far(folder: str, session: str) -> ToldSoFar | None:
    try:
        with open(_told_file(folder, session), encoding="utf-8") as file:  # noqa: PTH123
            written = os.fstat(file.fileno()).st_mtime
            room_id, seq, notices, owed = file.read().split("\n")[:4]
        return ToldSoFar(room_id, int(seq), notices, int(owed), written)
    except (OSError, ValueError):
        return None


def keep_told(folder: str, session: str, seen: ToldSoFar) -> None:
    path = _told_file(folder, session)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
    part = f"{path}.{os.getpid()}"
    with open(part, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"{seen.room_id}\n{seen.seq}\n{seen.notices}\n{seen.owed}\n")
    os.replace(part, path)  # noqa: PTH105


def forget_told(folder: str, session: str) -> None:
    """Tell the session everything anew, as one that has just begun."""
    with suppress(OSError):
        os.unlink(_told_file(folder, session))  # noqa: PTH108


def mark(texts: list[str]) -> str:
    return f"{crc32(chr(10).join(texts).encode()):08x}" if texts else ""


def nothing_new(database: str | None, seen: ToldSoFar | None) -> bool:
    """Whether it is certain that the room has had no event since; with no store to look at, whether it is too soon."""
    if seen is None:
        return False
    if time() - seen.at < PAUSE_SECONDS and (database is None or not seen.room_id):
        return True
    return database is not None and seen.room_id != "" and _head(database, seen.room_id) == seen.seq


def _head(database: str, room_id: str) -> int | None:
    import apsw

    try:
        store = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
        store.set_busy_timeout(BUSY_MS)
        reader: HeadReader = store  # pyright: ignore[reportAssignmentType] - the driver's own types are partly unknown
        try:
            found = reader.execute("SELECT seq FROM heads WHERE room_id = ?", (room_id,)).fetchall()
        finally:
            store.close()
    except apsw.Error:
        return None
    return found[0][0] if found else None


def _told_file(folder: str, session: str) -> str:
    key = f"{os.environ.get('TALLYSTICK_AGENT', '')} {session}"
    return f"{folder}/hooks/{crc32(key.encode('utf-8', 'surrogatepass')):08x}.seen"


AGAIN_SECONDS = 3600
"""A fault of ours is told once in a session and then kept quiet: every edit would repeat it otherwise."""


def hears_first(folder: str, session: str) -> bool:
    """Whether this session hears of a fault for the first time in an hour; so it is where nothing can be noted.

    It is noted in the data directory, or where that takes no file in the folder for temporary ones.
    """
    name = f"{crc32(f'{folder} {session}'.encode('utf-8', 'surrogatepass')):08x}.fault"
    temporary = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - only whether the file is there counts
    if os.path.isdir(folder) and not os.path.isdir(f"{folder}/hooks"):  # noqa: PTH112
        _make_folder(folder)
    for path in (f"{folder}/hooks/{name}", f"{temporary}/tally-{os.geteuid()}-{name}"):
        told = _noted(path)
        if told is not None:
            return not told
    return True


def _make_folder(folder: str) -> None:
    try:
        os.mkdir(f"{folder}/hooks", mode=0o700)  # noqa: PTH102
    except OSError:
        return  # Another hook was faster, or nothing can be written here.


def _noted(path: str) -> bool | None:
    """Whether it was noted there lately; None where it cannot be."""
    try:
        if time() - os.lstat(path).st_mtime < AGAIN_SECONDS:
            return True
        os.unlink(path)  # noqa: PTH108
    except OSError:
        pass  # Nothing was noted, or not by us: then the next line says no.
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    except OSError:
        return None
    return False
