"""A lock that threads get in the order they asked for it; Python's own lets whoever comes next overtake them."""

from __future__ import annotations

import threading
from collections import deque

from tallystick.storage.errors import NestedWrite


class ThreadQueue:
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
        return self._lock.acquire(blocking=False)

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
            # Tried after joining: who releases before this leaves the lock free, who releases later sees us waiting.
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
