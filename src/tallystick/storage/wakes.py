"""Waking without a daemon: one small file per room, touched after each commit; whoever waits watches that file.

How it is watched depends on the system: inotify, kqueue, or a look every 20 ms. A lost wake costs latency, never an
event, so a touch that fails is forgotten.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from tallystick.kernel.errors import InvalidField
from tallystick.storage.driver_errors import os_errors
from tallystick.storage.idle_watches import IdleWatches, LentWatch
from tallystick.storage.port import EVERY_ROOM, Watch

POLL_SECONDS = 0.02
CHECK_SECONDS = 0.001
"""How long a look at a wake file's place holds. Who is not woken because of it looks again by itself."""
BELLS = 64
_ROOM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


@lru_cache(maxsize=1024)
def checked(room_id: str) -> str:
    """The id of a room, fit to be a file name and a channel's message."""
    if not _ROOM_ID.fullmatch(room_id):
        raise InvalidField(f"'{room_id[:60]}' is not the id of a room.")
    return room_id


class Bell:
    """A room's wake file, kept open: a few bytes written there cost a quarter of setting its times by name."""

    __slots__ = ("_checked_until", "_fd", "_inode", "_path")

    def __init__(self, path: Path) -> None:
        self._fd = -1
        create(path)
        self._path = str(path)
        self._fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._inode = os.fstat(self._fd).st_ino
        self._checked_until = 0.0

    def hangs(self) -> bool:
        """Whether this is still the file that others watch."""
        now = time.monotonic()
        if now >= self._checked_until:
            if os.stat(self._path).st_ino != self._inode:  # noqa: PTH116 - for every write, at half the price
                return False
            self._checked_until = now + CHECK_SECONDS
        return True

    def ring(self) -> None:
        # The time, for those who look: the file's own may stand still for 10 ms.
        os.pwrite(self._fd, time.time_ns().to_bytes(8), 0)

    def __del__(self) -> None:
        # Here and nowhere else: whoever rings holds the bell, so that its number never becomes another file's.
        if self._fd >= 0:
            os.close(self._fd)


class WakeFiles:
    def __init__(self, folder: Path, watcher: str | None = None) -> None:
        self.folder = folder
        self.watcher = watcher or usual_watcher()
        self._idle = IdleWatches()
        self._bells: dict[str, Bell] = {}

    def touch(self, room_id: str) -> None:
        """Wake those who watch the room; never fails, because the change is committed."""
        with suppress(OSError):
            try:
                self._bell(room_id).ring()
            except OSError:
                # The file was removed, or the disk is full, which times can be set on all the same.
                self._bells.pop(room_id, None)
                create(self.folder / room_id)
                os.utime(self.folder / room_id)

    def _bell(self, room_id: str) -> Bell:
        bell = self._bells.get(room_id)
        if bell is None or not bell.hangs():
            if len(self._bells) >= BELLS:
                self._bells.clear()
            bell = self._bells[room_id] = Bell(self.folder / room_id)
        return bell

    def watch(self, room_id: str) -> Watch:
        whole = room_id == EVERY_ROOM
        path = self.folder if whole else self.folder / checked(room_id)
        with os_errors(path):
            if idle := self._idle.take(path):
                return idle
            make = make_folder if whole else create
            make(path)
            watch = WATCHERS[self.watcher](path, make)
        return watch if isinstance(watch, PollingWatch) else LentWatch(path, watch, self._idle)

    def close(self) -> None:
        """End the watches that nobody uses."""
        self._idle.close()
        self._bells.clear()


Make: TypeAlias = Callable[[Path], None]
"""Makes what is to be watched, where it is missing."""


def make_folder(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def create(path: Path) -> None:
    make_folder(path.parent)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


Sign: TypeAlias = tuple[int, bytes]
"""A file's time, and the one that was written into it."""
NOTHING: Sign = (0, b"")


class PollingWatch:
    """Compares times, of the file or of all files in the folder; for systems that cannot tell us, and beyond limits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._sign()

    def wait(self, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        while True:
            now = self._sign()
            if now != self._seen:
                self._seen = now
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(POLL_SECONDS, left))

    def close(self) -> None:
        pass

    def _sign(self) -> Sign:
        """The newest there is; nothing while there is nothing, and its return is then a change like any other."""
        try:
            if not self._path.is_dir():
                return _sign(self._path)
            with os.scandir(self._path) as files:
                return max((_sign(Path(file)) for file in files), default=NOTHING)
        except OSError:
            return NOTHING


def _sign(path: Path) -> Sign:
    with path.open("rb", buffering=0) as file:
        return os.fstat(file.fileno()).st_mtime_ns, file.read(8)


def _inotify(path: Path, make: Make) -> Watch:
    from tallystick.storage.inotify import InotifyWatch

    try:
        return InotifyWatch(path, make)
    except OSError:
        # Each user has a limit on instances (often 128) and on watches; beyond it, looking still works.
        return PollingWatch(path)


def _kqueue(path: Path, make: Make) -> Watch:
    from tallystick.storage.kqueue import KqueueWatch

    # A folder's queue tells which files come and go, not which are touched.
    return PollingWatch(path) if make is make_folder else KqueueWatch(path)


def _poll(path: Path, _make: Make) -> Watch:
    return PollingWatch(path)


WATCHERS: Mapping[str, Callable[[Path, Make], Watch]] = {"inotify": _inotify, "kqueue": _kqueue, "poll": _poll}


def usual_watcher() -> str:
    if sys.platform == "linux":
        return "inotify"
    return "kqueue" if sys.platform == "darwin" or "bsd" in sys.platform else "poll"
