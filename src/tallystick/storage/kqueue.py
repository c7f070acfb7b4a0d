"""A watch on one file through the kqueue of macOS and the BSDs."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

from tallystick.storage.watches import create

if sys.platform == "linux" or sys.platform == "win32":
    raise ImportError("this system has no kqueue")


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
