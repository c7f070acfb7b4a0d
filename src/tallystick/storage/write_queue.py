"""The queue of writers in front of SQLite's own lock: first come, first served, among threads and among processes.

Two files are locked. Who holds the *line* is next; who holds the *writer* file writes. Because only the first in line
looks at the writer file, nobody is overtaken. A process may go on for a short slice without queueing again, so writers
do not hand over after every transaction: the first in line leaves a writer alone that has only just let go, which it
sees in the writer file. SQLite's lock remains the one that protects the data.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from collections import deque
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from pathlib import Path
from time import monotonic, sleep

from tallystick.storage.driver_errors import busy, flock_holder, os_errors
from tallystick.storage.errors import NestedWrite, StoreBusy, StoreClosed

SLICE = 0.004
"""Seconds for which a process may write on without queueing again: long against a hand-over, short to wait for."""
GRACE = 0.0002
"""Seconds that a writer within its slice may take between two transactions before the next in line comes in."""
SHORTEST_SLEEP, LONGEST_SLEEP = 0.0001, 0.002
CHECK_INTERVAL = 0.0003
"""Seconds after which the first in line looks whether a writer has stopped before its slice was over."""
_TIMES = struct.Struct("=dd")
"""In the writer file: when the last writer let go and when its slice ends, by the clock that all processes share."""


def _try_lock(fd: int) -> bool:
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _mapped(fd: int) -> mmap.mmap | None:
    """The times as memory that all processes share; a look at them is then no call to the system."""
    try:
        if os.fstat(fd).st_size < _TIMES.size:
            # Written, not just made longer: a page without a place on a full disk would end the process at first touch.
            os.pwrite(fd, bytes(_TIMES.size), 0)
        return mmap.mmap(fd, _TIMES.size)
    except (OSError, ValueError):
        # On a full disk, say: turns become short and nothing else happens.
        return None


class WriteQueue:
    def __init__(self, database: Path, patience: float) -> None:
        self._line_path = database.with_name(f"{database.name}-line")
        self._writer_path = database.with_name(f"{database.name}-writer")
        self._patience = patience
        self._closed = False
        self._threads = ThreadQueue()
        self._line: FileLine | None = None
        self._writer = -1
        self._times: mmap.mmap | None = None
        self._slice_ends = 0.0

    def acquire(self) -> None:
        """Become the only writer, or raise `StoreBusy` when that takes too long."""
        asked = monotonic()
        if not self._threads.acquire(self._patience):
            raise StoreBusy(f"Another thread of this process has been writing for {self._patience:g} s.")
        try:
            if monotonic() < self._slice_ends and _try_lock(self._writer):
                return
            self._queue(asked + self._patience)
        except BaseException:
            self._threads.release()
            raise

    def acquire_at_once(self) -> bool:
        """Become the only writer if nobody writes or queues at this moment; whether that was so."""
        if self._threads.length or not self._threads.acquire_if_free():
            return False
        try:
            if (monotonic() < self._slice_ends and _try_lock(self._writer)) or self._begin_slice():
                return True
        except BaseException:
            self._threads.release()
            raise
        self._threads.release()
        return False

    def _begin_slice(self) -> bool:
        """Take the writer file where no other process is in line or about to write on."""
        line = self._line or self._open()
        if not line.enter_at_once():
            return False
        try:
            if self._in_grace_period() or not _try_lock(self._writer):
                return False
        finally:
            line.leave()
        self._slice_ends = monotonic() + SLICE
        return True

    def release(self) -> None:
        if self._times:
            _TIMES.pack_into(self._times, 0, monotonic(), self._slice_ends)
        flock(self._writer, LOCK_UN)
        self._threads.release()

    def close(self) -> None:
        """Close the files; whoever writes at this moment must have finished."""
        self._closed = True
        if self._line:
            self._line.close()
            os.close(self._writer)
            self._line, self._writer, self._times, self._slice_ends = None, -1, None, 0.0

    def _queue(self, deadline: float) -> None:
        line = self._line or self._open()
        alone = line.enter_at_once()
        if not alone and not line.enter(deadline - monotonic()):
            raise self._busy()
        try:
            pause = SHORTEST_SLEEP
            if alone:
                self._spin_through_grace(deadline)
            while self._in_grace_period() or not _try_lock(self._writer):
                now = monotonic()
                if now >= deadline:
                    raise self._busy()
                left = self._last()[1] - now
                if left > 0:
                    sleep(min(left, CHECK_INTERVAL))
                else:
                    sleep(pause)
                    pause = min(pause * 1.05, LONGEST_SLEEP)
        finally:
            line.leave()
        self._slice_ends = monotonic() + SLICE

    def _spin_through_grace(self, deadline: float) -> None:
        """Busy-wait until the grace period of a writer that has just released is over, or it writes again.

        Only where nobody else queues: a waiter woken by a commit comes at this moment, and sleeping would take longer
        than the grace period. Where many queue, the writer needs the processor more.
        """
        released = self._last()[0]
        while self._in_grace_period() and self._last()[0] == released and monotonic() < deadline:
            pass

    def _in_grace_period(self) -> bool:
        """Whether the last writer is likely to go on: it released just now, and its slice is not over."""
        released, slice_ends = self._last()
        now = monotonic()
        return 0 <= now - released < GRACE and now < slice_ends

    def _last(self) -> tuple[float, float]:
        return _TIMES.unpack_from(self._times) if self._times else (0.0, 0.0)

    def _open(self) -> FileLine:
        if self._closed:
            raise StoreClosed
        with os_errors(self._writer_path):
            self._writer = os.open(self._writer_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._times = _mapped(self._writer)
            self._line = FileLine(os.open(self._line_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        return self._line

    def _busy(self) -> StoreBusy:
        return busy(flock_holder(self._writer_path) or flock_holder(self._line_path), self._patience)

    def pause(self) -> bool:
        """Let no thread of this process in until `resume`; False while one is in."""
        return self._threads.acquire_if_free()

    def resume(self) -> None:
        self._threads.release()


class FileLine:
    """A file lock that is waited for with a limit.

    flock serves in order but knows no time limit, and a stopped holder would keep everybody for ever. So a thread waits
    in flock, the caller waits for the thread, and a lock that comes too late is given back at once.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._state = threading.Lock()
        self._asked, self._granted = threading.Semaphore(0), threading.Semaphore(0)
        self._waiting = self._wanted = self._closed = False
        self._thread: threading.Thread | None = None

    def enter_at_once(self) -> bool:
        """Whether the place was free."""
        with self._state:
            return not self._waiting and _try_lock(self.fd)

    def enter(self, timeout: float) -> bool:
        with self._state:
            if not self._waiting and _try_lock(self.fd):
                return True
            self._wanted = True
            if not self._waiting:
                self._waiting = True
                self._send_thread()
        try:
            if self._granted.acquire(timeout=max(timeout, 0)):
                return True
        except BaseException:
            if not self._withdraw():
                self.leave()
            raise
        return not self._withdraw()

    def leave(self) -> None:
        flock(self.fd, LOCK_UN)

    def close(self) -> None:
        self._closed = True
        if self._thread:
            self._asked.release()
        else:
            os.close(self.fd)

    def _withdraw(self) -> bool:
        """Stop waiting; False when the lock was granted at the last moment."""
        with self._state:
            self._wanted = False
            return not self._granted.acquire(blocking=False)

    def _send_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._wait_in_line, name="tally-line", daemon=True)
            self._thread.start()
        self._asked.release()

    def _wait_in_line(self) -> None:
        while True:
            self._asked.acquire()
            if self._closed:
                os.close(self.fd)
                return
            flock(self.fd, LOCK_EX)
            with self._state:
                self._waiting = False
                if self._wanted:
                    self._wanted = False
                    self._granted.release()
                else:
                    flock(self.fd, LOCK_UN)


class ThreadQueue:
    """A lock that threads get in the order they asked for it; Python's own lets whoever comes next overtake them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._state = threading.Lock()
        self._waiting: deque[tuple[threading.Lock, int]] = deque()

    @property
    def length(self) -> int:
        """How many wait at this moment."""
        return len(self._waiting)

    def acquire(self, timeout: float) -> bool:
        if not self._waiting and self._lock.acquire(blocking=False):
            self._owner = threading.get_ident()
            return True
        return self._queue(timeout, threading.get_ident())

    def acquire_if_free(self) -> bool:
        free = self._lock.acquire(blocking=False)
        if free:
            self._owner = threading.get_ident()
        return free

    def release(self) -> None:
        self._owner = 0
        if not self._waiting:
            self._lock.release()
            if not self._waiting or not self._lock.acquire(blocking=False):
                return
        self._hand_over()

    def _hand_over(self) -> None:
        """Give the lock, which we hold, to the first who waits."""
        with self._state:
            if self._waiting:
                gate, self._owner = self._waiting.popleft()
                gate.release()
            else:
                self._lock.release()

    def _queue(self, timeout: float, me: int) -> bool:
        if self._owner == me:
            raise NestedWrite
        gate = threading.Lock()
        gate.acquire()
        place = (gate, me)
        with self._state:
            self._waiting.append(place)
            # Enqueue first, then try the lock: a release before this point left it free, a later one will find us here.
            free = self._lock.acquire(blocking=False)
        if free:
            self._hand_over()
        try:
            if gate.acquire(timeout=timeout):
                return True
        except BaseException:
            if not self._withdraw(place):
                self.release()
            raise
        return not self._withdraw(place)

    def _withdraw(self, place: tuple[threading.Lock, int]) -> bool:
        """Leave the queue; False when the lock was given to us at the last moment."""
        with self._state:
            if place in self._waiting:
                self._waiting.remove(place)
                return True
            return False
