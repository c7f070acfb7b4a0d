"""Who this session's agent is, remembered for a minute, so that most hooks need not find out.

A stamp counts only while the very process it names is above us. When it has grown old the next hook goes the long way,
which also shows that the agent is still there.
"""

from __future__ import annotations

import os
from binascii import crc32
from time import time

FRESH_SECONDS = 60
KEPT_SECONDS = 24 * 3600
_LEVELS = 16


def agent(folder: str, session: str) -> str | None:
    """The agent of this session; None when there is no fresh stamp of a process above this one."""
    try:
        with open(_file(folder, session), encoding="utf-8") as file:  # noqa: PTH123
            fresh = 0 <= time() - os.fstat(file.fileno()).st_mtime < FRESH_SECONDS
            name, pid, started_at = file.read().split("\n")[:3]
    except (OSError, ValueError):
        return None
    return name if fresh and _is_above(pid, started_at) else None


def leave(folder: str, session: str, name: str, pid: int, started_at: str) -> None:
    path = _file(folder, session)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
    part = f"{path}.{os.getpid()}"
    with open(part, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"{name}\n{pid}\n{started_at}\n")
    os.replace(part, path)  # noqa: PTH105


def sweep(folder: str) -> None:
    """Remove the stamps of sessions that are long over."""
    try:
        for entry in os.scandir(f"{folder}/hooks"):
            if time() - entry.stat().st_mtime > KEPT_SECONDS:
                os.unlink(entry.path)  # noqa: PTH108
    except OSError:
        return  # There are none, or another hook was faster.


def _file(folder: str, session: str) -> str:
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
