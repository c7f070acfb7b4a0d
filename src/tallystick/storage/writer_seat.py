"""The one connection of this process that writes, and the right to use it: whoever holds the queue has the seat."""

from __future__ import annotations

from tallystick.storage import forks
from tallystick.storage.pool import Borrower
from tallystick.storage.sqlite_file import Session, SqliteFile
from tallystick.storage.write_queue import WriteQueue


class WriterSeat:
    def __init__(self, file: SqliteFile, queue: WriteQueue) -> None:
        self._file, self._queue = file, queue
        self._session: Session | None = None
        self._borrower: Borrower | None = None
        self._closed = self._paused = False
        forks.attend(self)

    def take(self, borrower: Borrower) -> Session:
        self._queue.acquire()
        self._borrower = borrower
        session = self._session
        if session is None:
            try:
                session = self._session = self._file.writer()
            except BaseException:
                self.give(sound=False)
                raise
        return session

    def give(self, sound: bool) -> None:
        if not sound or self._closed:
            self._stand_up()
        self._borrower = None
        self._queue.release()
        if self._closed:
            self._queue.close()

    def close(self) -> None:
        """At once when nobody writes, else when that write ends."""
        self._closed = True
        if self._queue.pause():
            self._stand_up()
            self._queue.close()
            self._queue.resume()

    def _stand_up(self) -> None:
        if self._session:
            self._session.close()
            self._session = None

    def before_fork(self) -> None:
        self._paused = self._queue.pause()
        if self._paused:
            self._stand_up()

    def after_fork_in_parent(self) -> None:
        if self._paused:
            self._queue.resume()

    def after_fork_in_child(self) -> None:
        if not self._paused:
            if self._borrower:
                self._borrower.abandon()
            self._file.leave(self._session)
        self._session = self._borrower = None
        self._queue.renew()
