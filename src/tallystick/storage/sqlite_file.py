"""Opening the SQLite file: what is refused, how a new one is made, and the settings of every connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, cast
from urllib.parse import quote

import apsw
import msgspec

from tallystick.kernel.errors import TallyError
from tallystick.storage.driver_errors import from_sqlite, os_errors
from tallystick.storage.errors import EngineTooOld, ForkedTransaction, NetworkFilesystem, NotOurFile, StoreDamaged
from tallystick.storage.mounts import Mount, mount_of, mount_table
from tallystick.storage.port import Value

APPLICATION_ID = 0x54414C59
"""`TALY` in the file's header: how we know our own files."""
OLDEST_SQLITE = (3, 51, 3)
STATEMENTS = 250
WAL_SIZE_LIMIT = 64 * 1024 * 1024


class Cursor(Protocol):
    """What we use of apsw's cursors."""

    def execute(self, statements: str, bindings: Mapping[str, Value] | None = None, /) -> Cursor: ...

    def fetchone(self) -> tuple[Value, ...] | None: ...

    def fetchall(self) -> list[tuple[Value, ...]]: ...

    def get_description(self) -> tuple[tuple[str, str], ...]: ...

    def close(self, force: bool = False) -> None: ...


class Connection(Protocol):
    """What we use of apsw's connections."""

    in_transaction: bool

    def cursor(self) -> Cursor: ...

    def pragma(self, name: str, value: str | int | None = None, /) -> Value: ...

    def set_busy_timeout(self, milliseconds: int) -> None: ...

    def set_progress_handler(self, late: Callable[[], bool], steps: int, /) -> None: ...

    def config(self, option: int, value: int, /) -> int: ...

    def close(self, force: bool = False) -> None: ...


class Session:
    """A connection and the one cursor that runs everything but streams on it."""

    __slots__ = ("connection", "execute")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.execute = connection.cursor().execute

    def close(self) -> None:
        self.connection.close(True)


class SqliteFile(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    full_sync: bool
    allow_network_fs: bool
    busy_timeout_ms: int
    mounts: Callable[[], Sequence[Mount]] = mount_table
    sqlite_version: str = apsw.sqlite_lib_version()

    shared_with_parent: ClassVar[set[Path]] = set()
    """Files this process may not open, because it was forked while its parent used them."""

    def prepare(self) -> None:
        """Check the place before anything is created in it, then make the data directory."""
        if tuple(map(int, self.sqlite_version.split("."))) < OLDEST_SQLITE:
            raise EngineTooOld(
                f"SQLite {self.sqlite_version} is too old: before 3.51.3 it may damage a file that many processes use."
            )
        mount = None if self.allow_network_fs else mount_of(self.path, self.mounts())
        if mount and mount.network:
            raise NetworkFilesystem(
                f"{self.path.parent} is on a network file system ({mount.kind}), where its locks protect nothing."
            )
        with os_errors(self.path.parent):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_a_lost_file()

    def _refuse_a_lost_file(self) -> None:
        """SQLite would silently drop a log whose database is gone, and with it the newest writes."""
        log = self.path.with_name(f"{self.path.name}-wal")
        # The log first: while a store is being created, the database is never empty once there is a log.
        if log.exists() and log.stat().st_size and not (self.path.exists() and self.path.stat().st_size):
            raise StoreDamaged(
                f"{self.path} is missing or empty although its log {log.name} is there.",
                hint=f"Restore the file from a backup; to start afresh instead, move {log.name} away.",
            )

    @property
    def is_new(self) -> bool:
        with os_errors(self.path):
            return not self.path.exists() or self.path.stat().st_size == 0

    def create(self) -> None:
        """Make an empty file ours; the caller holds the write queue, and another process may have been faster."""
        # It takes its mode from the lock file beside it, so at no moment can others read it.
        like = self.path.with_name(f"{self.path.name}-writer").absolute()
        name = f"file:{quote(str(self.path.absolute()))}?modeof={quote(str(like))}"
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        connection = self._connect(name, flags)
        try:
            if connection.pragma("page_count") == 0:
                connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("journal_mode", "wal")
        except apsw.Error as wrong:
            raise self.error(wrong) from wrong
        finally:
            connection.close()

    def reader(self) -> Session:
        return Session(self._open(query_only=1))

    def writer(self) -> Session:
        return Session(self._open(query_only=0))

    def error(self, wrong: Exception, *, reading: bool = False, schema_broken: bool = False) -> TallyError:
        seconds = self.busy_timeout_ms / 1000
        return from_sqlite(wrong, self.path, seconds=seconds, reading=reading, schema_broken=schema_broken)

    def leave(self, session: Session | None) -> None:
        """In a forked child: never touch the parent's connection, and do not even free it, which would close it."""
        self.shared_with_parent.add(self.path.resolve())
        if session:
            import ctypes

            ctypes.pythonapi.Py_IncRef(ctypes.py_object(session.connection))

    def _open(self, *, query_only: int) -> Connection:
        connection = self._connect(str(self.path))
        try:
            mine = connection.pragma("application_id") == APPLICATION_ID
            if mine:
                connection.pragma("journal_mode", "wal")
                connection.pragma("synchronous", "full" if self.full_sync else "normal")
                connection.pragma("foreign_keys", 1)
                connection.pragma("journal_size_limit", WAL_SIZE_LIMIT)
                connection.pragma("query_only", query_only)
        except apsw.Error as wrong:
            connection.close(True)
            # These settings are the same for every file, so what SQLite does not understand is the file.
            raise self.error(wrong, schema_broken=True) from wrong
        if not mine:
            connection.close()
            raise NotOurFile(f"{self.path} is a database of another program; it was left alone.")
        return connection

    def _connect(self, name: str, flags: int = apsw.SQLITE_OPEN_READWRITE) -> Connection:
        # The locks of a connection opened before the fork would be taken for ours, and we would hold none.
        if self.shared_with_parent and self.path.resolve() in self.shared_with_parent:
            raise ForkedTransaction
        try:
            connection = cast("Connection", apsw.Connection(name, flags=flags, statementcachesize=STATEMENTS))
        except apsw.Error as wrong:
            raise self.error(wrong) from wrong
        connection.set_busy_timeout(self.busy_timeout_ms)
        # Without it SQLite plans a join anew for every new parameter, which takes longer than most of our queries.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        return connection
