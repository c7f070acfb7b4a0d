"""Watches between two waits, kept for the next one.

Ending an inotify watch makes the kernel wait for all processors, often for many milliseconds, and whoever has just been
given the stick should not wait for that.
"""

from __future__ import annotations

import os
from pathlib import Path

from tallystick.storage.port import Watch

KEPT = 8


class IdleWatches:
    def __init__(self) -> None:
        self._idle: dict[Path, list[Watch]] = {}
        self._pid = os.getpid()

    def take(self, path: Path) -> Watch | None:
        """A watch of this file that nobody uses, if there is one."""
        if self._pid != os.getpid():
            # A forked child has its parent's descriptors, and would take wakes away that are meant for the parent.
            self.close()
            self._pid = os.getpid()
        # One step each, so that two threads never get the same one.
        try:
            watch = self._idle[path].pop()
        except (KeyError, IndexError):
            return None
        # What happened while nobody waited is old news.
        watch.wait(0)
        return LentWatch(path, watch, self)

    def give(self, path: Path, watch: Watch) -> None:
        if self._pid != os.getpid() or sum(map(len, list(self._idle.values()))) >= KEPT:
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
