"""Waking without a daemon: one small file per room, touched after each commit; a waiter watches that file.

A file, or all files of a folder, are watched by inotify, kqueue, or a poll every 20 ms. A lost wake costs latency,
never an event, so a touch that fails is forgotten.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import select
import struct
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from tallystick.kernel.errors import InvalidField
from tallystick.storage.driver_errors import os_errors
from tallystick.storage.port import EVERY_ROOM, Watch

CHECK_SECONDS = 0.001
"""How long a check of a wake file's place holds. A waiter that is not woken because of it reads again by itself."""
OPEN_FILES = 64
_ROOM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")

POLL_SECONDS = 0.02
IDLE_WATCHES = 8
_MODIFY, _ATTRIB, _CREATE, _MOVE_SELF, _DELETE_SELF, _IGNORED = 0x2, 0x4, 0x100, 0x800, 0x400, 0x8000
_GONE = _MOVE_SELF | _DELETE_SELF | _IGNORED
_HEAD = struct.Struct("iIII")

_libc = ctypes.CDLL(None, use_errno=True)

Make: TypeAlias = Callable[[Path], None]
"""Makes what is to be watched, where it is missing."""


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


def make_folder(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def create(path: Path) -> None:
    make_folder(path.parent)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


FileTimes: TypeAlias = tuple[int, bytes]
"""A file's time, and the one that was written into it."""
NO_TIMES: FileTimes = (0, b"")


class PollingWatch:
    """Compares times, of the file or of all files in the folder; for systems that cannot tell us, and beyond limits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._times()

    def wait(self, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        while True:
            now = self._times()
            if now != self._seen:
                self._seen = now
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(POLL_SECONDS, left))

    def close(self) -> None:
        pass

    def _times(self) -> FileTimes:
        """The newest there is; nothing while there is nothing, and its return is then a change like any other."""
        try:
            if not self._path.is_dir():
                return _times(self._path)
            with os.scandir(self._path) as files:
                return max((_times(Path(file)) for file in files), default=NO_TIMES)
        except OSError:
            return NO_TIMES


def _times(path: Path) -> FileTimes:
    with path.open("rb", buffering=0) as file:
        return os.fstat(file.fileno()).st_mtime_ns, file.read(8)


class InotifyWatch:
    def __init__(self, path: Path, make: Callable[[Path], None]) -> None:
        self._path, self._make = path, make
        self._fd = _or_error(_libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        try:
            self._arm()
        except OSError:
            self.close()
            raise

    def wait(self, timeout: float) -> bool:
        if not self._poll.poll(math.ceil(max(timeout, 0) * 1000)):
            return False
        if self._read() & _GONE:
            # It was removed: watch its successor, and report a wake for whatever happened in between.
            self._make(self._path)
            self._arm()
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _arm(self) -> None:
        mask = _MODIFY | _ATTRIB | _CREATE | _MOVE_SELF | _DELETE_SELF
        _or_error(_libc.inotify_add_watch(self._fd, os.fsencode(self._path), ctypes.c_uint32(mask)))

    def _read(self) -> int:
        """What happened to the file, all events together."""
        happened, buffer, at = 0, os.read(self._fd, 65536), 0
        while at < len(buffer):
            _, mask, _, length = _HEAD.unpack_from(buffer, at)
            happened |= mask
            at += _HEAD.size + length
        return happened


def _or_error(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


class KqueueWatch:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue = select.kqueue()
        self._fd = -1
        self._arm()

    def wait(self, timeout: float) -> bool:
        happened = self._queue.control(None, 1, max(timeout, 0))
        if any(event.fflags & (select.KQ_NOTE_DELETE | select.KQ_NOTE_RENAME) for event in happened):
            # The file was removed: watch its successor, and report a wake for whatever happened in between.
            create(self._path)
            self._arm()
        return bool(happened)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._queue.close()
            self._fd = -1

    def _arm(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        notes = select.KQ_NOTE_ATTRIB | select.KQ_NOTE_WRITE | select.KQ_NOTE_DELETE | select.KQ_NOTE_RENAME
        event = select.kevent(self._fd, select.KQ_FILTER_VNODE, select.KQ_EV_ADD | select.KQ_EV_CLEAR, notes)
        self._queue.control([event], 0, 0)


class IdleWatches:
    """Watches between two waits, kept for the next one.

    Ending an inotify watch makes the kernel wait for all processors, often for many milliseconds, and an agent that has
    just been given the stick should not wait for that.
    """

    def __init__(self) -> None:
        self._idle: dict[Path, list[Watch]] = {}

    def take(self, path: Path) -> Watch | None:
        """A watch of this file that nobody uses, if there is one."""
        try:
            watch = self._idle[path].pop()
        except (KeyError, IndexError):
            return None
        # What happened while nobody waited is old news.
        watch.wait(0)
        return LentWatch(path, watch, self)

    def give(self, path: Path, watch: Watch) -> None:
        if sum(map(len, list(self._idle.values()))) >= IDLE_WATCHES:
            watch.close()
            return
        self._idle.setdefault(path, []).append(watch)

    def close(self) -> None:
        for watches in list(self._idle.values()):
            while watches:
                watches.pop().close()


class LentWatch:
    """A watch that goes back to the idle ones when it is closed."""

    def __init__(self, path: Path, watch: Watch, home: IdleWatches) -> None:
        self._path = path
        self._watch: Watch | None = watch
        self._home = home

    def wait(self, timeout: float) -> bool:
        return self._watch.wait(timeout) if self._watch else False

    def close(self) -> None:
        watch, self._watch = self._watch, None
        if watch:
            self._home.give(self._path, watch)


def _inotify(path: Path, make: Make) -> Watch:
    try:
        return InotifyWatch(path, make)
    except OSError:
        # Each user has a limit on instances (often 128) and on watches; beyond it, polling still works.
        return PollingWatch(path)


def _kqueue(path: Path, make: Make) -> Watch:

    # A folder's queue tells which files come and go, not which are touched.
    return PollingWatch(path) if make is make_folder else KqueueWatch(path)


def _poll(path: Path, _make: Make) -> Watch:
    return PollingWatch(path)


WATCHERS: Mapping[str, Callable[[Path, Make], Watch]] = {"inotify": _inotify, "kqueue": _kqueue, "poll": _poll}


def usual_watcher() -> str:
    if sys.platform == "linux":
        return "inotify"
    return "kqueue" if sys.platform == "darwin" or "bsd" in sys.platform else "poll"
