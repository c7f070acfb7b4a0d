"""A watch on one file, or on all files of a folder, through Linux's inotify."""

from __future__ import annotations

import ctypes
import math
import os
import select
import struct
from collections.abc import Callable
from pathlib import Path

_MODIFY, _ATTRIB, _CREATE, _MOVE_SELF, _DELETE_SELF, _IGNORED = 0x2, 0x4, 0x100, 0x800, 0x400, 0x8000
_GONE = _MOVE_SELF | _DELETE_SELF | _IGNORED
_HEAD = struct.Struct("iIII")

_libc = ctypes.CDLL(None, use_errno=True)


class InotifyWatch:
    def __init__(self, path: Path, make: Callable[[Path], None]) -> None:
        self._path, self._make = path, make
        self._fd = _checked(_libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
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
        _checked(_libc.inotify_add_watch(self._fd, os.fsencode(self._path), ctypes.c_uint32(mask)))

    def _read(self) -> int:
        """What happened to the file, all events together."""
        happened, buffer, at = 0, os.read(self._fd, 65536), 0
        while at < len(buffer):
            _, mask, _, length = _HEAD.unpack_from(buffer, at)
            happened |= mask
            at += _HEAD.size + length
        return happened


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
