"""Waking without a daemon: one small file per room, touched after each commit; a waiter watches that file.

How a file is watched is in `watches`. A lost wake costs latency, never an event, so a touch that fails is forgotten.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from tallystick.kernel.errors import InvalidField
from tallystick.storage.driver_errors import os_errors
from tallystick.storage.port import EVERY_ROOM, Watch
from tallystick.storage.watches import (
    WATCHERS,
    IdleWatches,
    LentWatch,
    PollingWatch,
    create,
    make_folder,
    usual_watcher,
)

CHECK_SECONDS = 0.001
"""How long a check of a wake file's place holds. A waiter that is not woken because of it reads again by itself."""
OPEN_FILES = 64
_ROOM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


@lru_cache(maxsize=1024)
def checked(room_id: str) -> str:
    """The id of a room, fit to be a file name and a channel's message."""
    if not _ROOM_ID.fullmatch(room_id):
        raise InvalidField(f"'{room_id[:60]}' is not the id of a room.")
    return room_id


class WakeFile:
    """A room's wake file, kept open: a few bytes written there cost a quarter of setting its times by name."""

    __slots__ = ("_checked_until", "_fd", "_inode", "_path")

    def __init__(self, path: Path) -> None:
        self._fd = -1
        create(path)
        self._path = str(path)
        self._fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._inode = os.fstat(self._fd).st_ino
        self._checked_until = 0.0

    def is_current(self) -> bool:
        """Whether this is still the file that others watch."""
        now = time.monotonic()
        if now >= self._checked_until:
            if os.stat(self._path).st_ino != self._inode:  # noqa: PTH116 - for every write, at half the price
                return False
            self._checked_until = now + CHECK_SECONDS
        return True

    def touch(self) -> None:
        # The time, for those who poll: the file's own may stand still for 10 ms.
        os.pwrite(self._fd, time.time_ns().to_bytes(8), 0)

    def __del__(self) -> None:
        # Closed only here: a thread that touches the file holds a reference, so its descriptor is not reused meanwhile.
        if self._fd >= 0:
            os.close(self._fd)


class WakeFiles:
    def __init__(self, folder: Path, watcher: str | None = None) -> None:
        self.folder = folder
        self.watcher = watcher or usual_watcher()
        self._idle = IdleWatches()
        self._files: dict[str, WakeFile] = {}

    def touch(self, room_id: str) -> None:
        """Wake those who watch the room; never fails, because the change is committed."""
        try:
            self._file(room_id).touch()
        except OSError:
            # The file was removed, or the disk is full, which times can be set on all the same.
            self._files.pop(room_id, None)
            with suppress(OSError):
                create(self.folder / room_id)
                os.utime(self.folder / room_id)

    def _file(self, room_id: str) -> WakeFile:
        file = self._files.get(room_id)
        if file is None or not file.is_current():
            if len(self._files) >= OPEN_FILES:
                self._files.clear()
            file = self._files[room_id] = WakeFile(self.folder / room_id)
        return file

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
        self._files.clear()
