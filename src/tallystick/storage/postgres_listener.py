"""Wakes on PostgreSQL: one LISTEN connection and one thread per process, however many rooms are watched.

When the connection is lost the thread makes another and wakes everybody, since it cannot know what was missed.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

import psycopg

from tallystick.kernel.errors import TallyError
from tallystick.storage.driver_errors import from_postgres
from tallystick.storage.errors import StoreClosed
from tallystick.storage.port import EVERY_ROOM
from tallystick.storage.postgres_server import Link
from tallystick.storage.postgres_transaction import CHANNEL

RECONNECT_SECONDS = 0.25


class PostgresWatch:
    def __init__(self, listener: PostgresListener, room_id: str) -> None:
        self._listener, self._room_id = listener, room_id
        self._woken = threading.Event()

    def wait(self, timeout: float) -> bool:
        woken = self._woken.wait(timeout)
        self._woken.clear()
        return woken

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self._listener.forget(self._room_id, self)


class PostgresListener:
    def __init__(self, connect: Callable[[], Link]) -> None:
        self._connect = connect
        self._closed = False
        self._lock = threading.Lock()
        self._watches: dict[str, set[PostgresWatch]] = {}
        self._link: Link | None = None
        self._thread: threading.Thread | None = None
        self._stop: tuple[int, int] | None = None

    def watch(self, room_id: str) -> PostgresWatch:
        with self._lock:
            if self._closed:
                raise StoreClosed
            if self._thread is None:
                self._link = self._listen()
                self._stop = os.pipe()
                serve, stop = self._serve, self._stop[0]
                self._thread = threading.Thread(target=serve, args=(stop,), name="tally-listen", daemon=True)
                self._thread.start()
            watch = PostgresWatch(self, room_id)
            self._watches.setdefault(room_id, set()).add(watch)
            return watch

    def forget(self, room_id: str, watch: PostgresWatch) -> None:
        with self._lock:
            watches = self._watches.get(room_id, set())
            watches.discard(watch)
            if not watches:
                self._watches.pop(room_id, None)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            thread, stop = self._thread, self._stop
            self._thread = self._stop = None
        if thread and stop:
            os.write(stop[1], b"x")
            thread.join()
            self._link = None
            os.close(stop[0])
            os.close(stop[1])

    def _listen(self) -> Link:
        link = self._connect()
        try:
            link.execute(f"LISTEN {CHANNEL}")
        except psycopg.Error as wrong:
            link.close()
            raise from_postgres(wrong) from wrong
        return link

    def _serve(self, stop: int) -> None:
        while True:
            if self._link is None:
                if _readable(stop, timeout=RECONNECT_SECONDS):
                    return
                self._reconnect()
            elif self._deliver(self._link, stop):
                self._link.close()
                return

    def _deliver(self, link: Link, stop: int) -> bool:
        """Pass on what came; True when it is time to stop."""
        try:
            if _readable(stop, link.fileno()) == stop:
                return True
            for notice in link.notifies(timeout=0):
                self._wake(notice.payload)
        except psycopg.Error:
            link.close()
            self._link = None
        return False

    def _reconnect(self) -> None:
        try:
            self._link = self._listen()
        except TallyError:
            return
        self._wake(None)

    def _wake(self, room_id: str | None) -> None:
        """Wake those who watch one room, or everybody."""
        with self._lock:
            told = list(self._watches) if room_id is None else [room_id, EVERY_ROOM]
            rooms = [self._watches.get(each, set()) for each in told]
            for watch in [watch for room in rooms for watch in room]:
                watch.wake()


def _readable(*descriptors: int, timeout: float | None = None) -> int | None:
    """The first descriptor that has something to read, in the order given."""
    poll = select.poll()
    for each in descriptors:
        poll.register(each, select.POLLIN)
    ready = {each for each, _ in poll.poll(None if timeout is None else timeout * 1000)}
    return next((each for each in descriptors if each in ready), None)
