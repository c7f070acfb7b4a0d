"""The shared store: a PostgreSQL database for several machines. All our tables live in the schema `tallystick`."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg

from tallystick.kernel.errors import TallyError
from tallystick.storage.errors import BackupUnsupported, StoreClosed
from tallystick.storage.pool import LimitedPool
from tallystick.storage.port import EVERY_ROOM, NotBrief, Watch
from tallystick.storage.postgres_server import SCHEMA, Link, PostgresServer, PostgresSession
from tallystick.storage.postgres_transaction import CHANNEL, PostgresContext, PostgresRead, PostgresWrite
from tallystick.storage.sql_files import Migration, Queries, applied_migration, missing_migrations
from tallystick.storage.wake_files import checked

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
    def __init__(self, listen: Callable[[], Link]) -> None:
        self._listen = listen
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


IDLE_CONNECTIONS = 8
CONNECTIONS = 24
"""At most this many per process; a server allows a hundred in all by default."""
MIGRATION_LOCK = 0x54414C59
_SQL = Queries("tallystick.storage")
_SERVER = Queries("tallystick.storage", "postgres_queries.sql")


def _there(there: bool) -> bool:
    return there


def _applied(rows: PostgresRead) -> dict[str, str]:
    return dict(rows.all(_SQL["applied"], applied_migration))


class PostgresStore:
    """Does nothing until first used."""

    engine = "postgres"

    def __init__(self, url: str, *, patience: float = 5.0) -> None:
        self._server = PostgresServer(url, patience)
        self._context = PostgresContext(
            sessions=LimitedPool(
                self._server.session,
                PostgresSession.close,
                keep=IDLE_CONNECTIONS,
                limit=CONNECTIONS,
                patience=patience,
            ),
            outage=self._server.outage,
            # A lock that is not granted in time is an answer, so this must be the longer one.
            answer_seconds=patience + 1,
        )
        self._listener = PostgresListener(lambda: self._server.connect(f"LISTEN {CHANNEL}"))

    def read(self) -> PostgresRead:
        return PostgresRead(self._context)

    def brief(self, _seconds: float, /) -> PostgresRead:
        raise NotBrief

    def write(self, *, unhurried: bool = False) -> PostgresWrite:
        return PostgresWrite(self._context, unhurried=unhurried)

    def brief_write(self, _seconds: float, /) -> PostgresWrite:
        raise NotBrief

    def watch(self, room_id: str) -> Watch:
        return self._listener.watch(checked(room_id))

    def migrate(self, migrations: Sequence[Migration]) -> None:
        with self.read() as rows:
            if rows.one(_SERVER["has_migrations"], _there) and not missing_migrations(migrations, _applied(rows)):
                return
        with self.write(unhurried=True) as rows:
            # Whoever else migrates at this moment may need longer than the usual patience with locks.
            rows.script(f"SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
            if not rows.one(_SERVER["has_schema"], _there):
                rows.script(f"CREATE SCHEMA {SCHEMA}")
            rows.run(_SQL["create_migrations"])
            for each in missing_migrations(migrations, _applied(rows)):
                rows.script(each.postgres)
                rows.run(_SQL["record"], id=each.id, checksum=each.checksum)

    def describe(self) -> dict[str, object]:
        with self.read() as rows:
            settings = rows.one(_SERVER["settings"], dict[str, object])
        return {
            "engine": self.engine,
            "driver": f"psycopg {psycopg.__version__}",
            "location": self._server.location,
            "schema": SCHEMA,
            **(settings or {}),
        }

    def backup(self, target: Path) -> None:
        raise BackupUnsupported(f"Tallystick does not back up a PostgreSQL server; {target} was not written.")

    def close(self) -> None:
        self._context.sessions.close()
        self._listener.close()
