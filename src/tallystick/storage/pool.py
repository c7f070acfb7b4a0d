"""Connections, each lent to one transaction at a time; safe for threads and across forks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from tallystick.storage import forks
from tallystick.storage.errors import StoreBusy, StoreClosed

C = TypeVar("C")


class Borrower(Protocol):
    def abandon(self) -> None:
        """Called in the child of a fork: the connection belongs to the parent, so refuse and leave it untouched."""
        ...


class Pool(Generic[C]):
    """In a forked child `leave` drops a connection without a word to its other end; None stands for one half open."""

    def __init__(
        self,
        connect: Callable[[], C],
        close: Callable[[C], None],
        leave: Callable[[C | None], None],
        *,
        keep: int,
        survives_fork: bool = False,
    ) -> None:
        self._connect, self._close, self._leave = connect, close, leave
        self._keep, self._survives_fork = keep, survives_fork
        self._closed = False
        self._start()
        forks.attend(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[C] = []
        self._lent: dict[Borrower, C | None] = {}

    def take(self, borrower: Borrower) -> C:
        with self._lock:
            if self._idle:
                idle = self._lent[borrower] = self._idle.pop()
                return idle
            # Noted before it is opened: a fork in between must know of it.
            self._lent[borrower] = None
        try:
            return self._fresh(borrower)
        except BaseException:
            del self._lent[borrower]
            raise

    def replace(self, borrower: Borrower) -> C:
        """A new connection for one that turned out to be dead; the idle ones are as old, so they go as well."""
        with self._lock:
            dead, self._lent[borrower] = self._lent[borrower], None
            old, self._idle = self._idle, []
        for connection in old if dead is None else [dead, *old]:
            self._close(connection)
        return self._fresh(borrower)

    def give(self, borrower: Borrower, sound: bool = True) -> None:
        with self._lock:
            connection = self._lent.pop(borrower)
            if sound and len(self._idle) < self._keep and not self._closed and connection is not None:
                self._idle.append(connection)
                return
        if connection is not None:
            self._close(connection)

    def close(self) -> None:
        """Close what is idle; what is lent closes when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            self._close(connection)

    def _fresh(self, borrower: Borrower) -> C:
        if self._closed:
            raise StoreClosed
        connection = self._lent[borrower] = self._connect()
        return connection

    def before_fork(self) -> None:
        self._lock.acquire()
        if not self._survives_fork:
            while self._idle:
                self._close(self._idle.pop())

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        lent, idle = self._lent, self._idle
        self._start()
        for connection in idle:
            self._leave(connection)
        for borrower, connection in lent.items():
            borrower.abandon()
            self._leave(connection)


class LimitedPool(Pool[C]):
    """A pool that lends only so many at a time; who finds none free waits a while for one."""

    def __init__(self, *args: Callable[..., Any], keep: int, limit: int, patience: float) -> None:
        self._limit, self._patience = limit, patience
        super().__init__(*args, keep=keep, survives_fork=True)

    def _start(self) -> None:
        super()._start()
        self._places = threading.Semaphore(self._limit)

    def take(self, borrower: Borrower) -> C:
        if not self._places.acquire(timeout=self._patience):
            raise StoreBusy(f"All {self._limit} connections of this process have been in use for {self._patience:g} s.")
        try:
            return super().take(borrower)
        except BaseException:
            self._places.release()
            raise

    def give(self, borrower: Borrower, sound: bool = True) -> None:
        super().give(borrower, sound)
        self._places.release()
