"""Who holds a lock, as far as /proc/locks tells: for the message of `StoreBusy`, never for a decision."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

WAL_WRITE_BYTE = 120
"""The byte of the `-shm` file that SQLite locks to write."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    name: str
    stopped: bool

    def __str__(self) -> str:
        return f"process {self.pid} ({self.name}{', which is stopped' if self.stopped else ''})"


def flock_holder(path: Path) -> Holder | None:
    """The process that holds the file's flock."""
    return next((_holder(pid) for kind, pid, _ in _locks(path) if kind == "FLOCK"), None)


def sqlite_writer(database: Path) -> Holder | None:
    """The process that holds SQLite's write lock on a database in WAL mode."""
    shared = database.with_name(f"{database.name}-shm")
    held = (_holder(pid) for kind, pid, first in _locks(shared) if kind == "POSIX" and first == str(WAL_WRITE_BYTE))
    return next(held, None)


def _locks(path: Path) -> Iterator[tuple[str, int, str]]:
    """Kind, pid and first byte of every write lock that is held on a file."""
    try:
        about = path.stat()
        lines = Path("/proc/locks").read_text("utf-8").splitlines()
    except OSError:
        return
    file = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    for line in lines:
        words = line.split()
        if len(words) == 8 and words[3] == "WRITE" and words[5] == file:
            yield words[1], int(words[4]), words[6]


def _holder(pid: int) -> Holder:
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").partition("(")[2].rpartition(")")
    except OSError:
        return Holder(pid=pid, name="already gone", stopped=False)
    return Holder(pid=pid, name=name, stopped=rest.split()[0] in {"T", "t"})
