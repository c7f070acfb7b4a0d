"""Connections, each lent to one transaction at a time, to one of several threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tallystick.storage.errors import ForkedStore, StoreBusy, StoreClosed

C = TypeVar("C")


def refuse_in_fork(opened_by: int) -> None:
    """Neither SQLite's connections nor a server's may be shared by two processes."""
    if os.getpid() != opened_by:
        raise ForkedStore


class Pool(Generic[C]):
    """Lends to a borrower, which is any hashable object, until it gives the connection back."""

    def __init__(self, connect: Callable[[], C], close: Callable[[C], None], *, keep: int) -> None:
        self._connect, self._close, self._keep = connect, close, keep
        self._pid = os.getpid()
        self._closed = False
        self._lock = threading.Lock()
        self._idle: list[C] = []
        self._lent: dict[object, C] = {}

    def take(self, borrower: object) -> C:
        refuse_in_fork(self._pid)
        with self._lock:
            if self._idle:
                idle = self._lent[borrower] = self._idle.pop()
                return idle
        return self._fresh(borrower)

    def replace(self, borrower: object) -> C:
        """A new connection for one that turned out to be dead; the idle ones are as old, so they go as well."""
        with self._lock:
            dead, old = self._lent.pop(borrower), self._idle
            self._idle = []
        for connection in [dead, *old]:
            self._close(connection)
        return self._fresh(borrower)

    def give(self, borrower: object, sound: bool = True) -> None:
        with self._lock:
            # Absent when a replacement could not be made.
            connection = self._lent.pop(borrower, None)
            if connection is None:
                return
            if sound and len(self._idle) < self._keep and not self._closed:
                self._idle.append(connection)
                return
        self._close(connection)

    def drop_idle(self) -> None:
        """Close what nobody uses; whatever is wrong with one is likely to be wrong with all."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._close(connection)

    def close(self) -> None:
        """Close what is idle; what is lent closes when it comes back."""
        with self._lock:
            self._closed = True
        self.drop_idle()

    def _fresh(self, borrower: object) -> C:
        if self._closed:
            raise StoreClosed
        connection = self._lent[borrower] = self._connect()
        return connection


class LimitedPool(Pool[C]):
    """A pool that lends only so many at a time; a borrower that finds none free waits a while for one."""

    def __init__(self, *args: Callable[..., Any], keep: int, limit: int, patience: float) -> None:
        super().__init__(*args, keep=keep)
        self._limit, self._patience = limit, patience
        self._free = threading.Semaphore(limit)

    def take(self, borrower: object) -> C:
        refuse_in_fork(self._pid)
        if not self._free.acquire(timeout=self._patience):
            raise StoreBusy(f"All {self._limit} connections of this process have been in use for {self._patience:g} s.")
        try:
            return super().take(borrower)
        except BaseException:
            self._free.release()
            raise

    def give(self, borrower: object, sound: bool = True) -> None:
        super().give(borrower, sound)
        self._free.release()
