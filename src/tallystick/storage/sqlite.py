"""The embedded store: one SQLite file in WAL mode, shared by every process of this machine without a daemon."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from os import stat
from pathlib import Path
from time import monotonic
from typing import Self, TypeVar, cast

import apsw
from msgspec import structs

from tallystick.kernel.errors import Unavailable
from tallystick.storage.driver_errors import from_sqlite, os_errors
from tallystick.storage.errors import BackupExists, NotOurFile, StoreGone, failed
from tallystick.storage.pool import Pool
from tallystick.storage.port import NotBrief, Value, Watch
from tallystick.storage.sql_files import Migration, Queries, Query, applied_migration, fingerprint, missing_migrations
from tallystick.storage.sqlite_file import (
    Mount,
    SqliteConnection,
    SqliteCursor,
    SqliteFile,
    SqliteSession,
    mount_of,
    mount_table,
)
from tallystick.storage.sqlite_transaction import BriefSession, SqliteContext, SqliteRead, SqliteWrite, WriterConnection
from tallystick.storage.wake_files import WakeFiles
from tallystick.storage.write_queue import WriteQueue

T = TypeVar("T")


class SqliteBrief(SqliteRead):
    __slots__ = ("_until",)

    def __init__(self, context: SqliteContext, seconds: float) -> None:
        super().__init__(context)
        self._until = monotonic() + seconds

    def __enter__(self) -> Self:
        try:
            super().__enter__()
        except Unavailable:
            raise NotBrief from None
        cast("BriefSession", self._session).until = self._until
        self._execute = self._run
        return self

    def _end(self) -> None:
        # SQLite counts steps across statements, so that the end itself could be the one that is interrupted.
        cast("BriefSession", self._session).until = inf
        super()._end()

    def _run(self, sql: str, values: Mapping[str, Value]) -> SqliteCursor:
        self._check()
        return self._session.execute(sql, values)

    def all(self, query: Query, into: Callable[..., T], /, **values: Value) -> list[T]:
        def made(**columns: Value) -> T:
            self._check()
            return into(**columns)

        return super().all(query, made, **values)

    def stream(self, _query: Query, _into: Callable[..., T], /, **_values: Value) -> Iterator[T]:
        raise NotBrief

    def _check(self) -> None:
        if monotonic() >= self._until:
            raise NotBrief

    def _fail(self, _wrong: Exception, /) -> Exception:
        self._execute = failed
        return NotBrief()


class SqliteBriefWrite(SqliteWrite):
    __slots__ = ("_until",)

    def __init__(self, context: SqliteContext, seconds: float) -> None:
        super().__init__(context)
        self._until = monotonic() + seconds

    def __enter__(self) -> Self:
        session = self._context.writer.take_at_once()
        if session is None:
            raise NotBrief
        if session.checkpoint_due:
            self._context.writer.give(sound=True)
            raise NotBrief
        self._begin(session, self._until)
        self._execute = self._run
        return self

    def _end(self) -> None:
        # What is ready in time is committed, however long that takes.
        cast("BriefSession", self._session).until = inf
        super()._end()

    def _run(self, sql: str, values: Mapping[str, Value]) -> SqliteCursor:
        if monotonic() >= self._until:
            raise NotBrief
        return self._session.execute(sql, values)


IDLE_READERS = 8
IDLE_BRIEF = 1
CHECK_SECONDS = 0.001
"""How long a look at the file's place holds. Who deletes the file loses what is in it, the last millisecond or not."""

_SQL = Queries("tallystick.storage")


class SqliteStore:
    """Does nothing until first used; then the file is checked, and created if there is none."""

    engine = "sqlite"

    def __init__(
        self,
        path: Path,
        *,
        full_sync: bool = False,
        allow_network_fs: bool = False,
        busy_timeout_ms: int = 5000,
        watcher: str | None = None,
        mounts: Callable[[], Sequence[Mount]] = mount_table,
        sqlite_version: str = apsw.sqlite_lib_version(),
    ) -> None:
        self._file = SqliteFile(
            path=path,
            full_sync=full_sync,
            allow_network_fs=allow_network_fs,
            busy_timeout_ms=busy_timeout_ms,
            mounts=mounts,
            sqlite_version=sqlite_version,
        )
        self._queue = WriteQueue(path, busy_timeout_ms / 1000)
        self._context = SqliteContext(
            file=self._file,
            readers=Pool(self._file.reader, SqliteSession.close, keep=IDLE_READERS),
            writer=WriterConnection(self._file, self._queue),
            wakes=WakeFiles(path.parent / "wake", watcher),
        )
        self._brief_context = structs.replace(
            self._context, readers=Pool(self._brief_session, SqliteSession.close, keep=IDLE_BRIEF)
        )
        self._name = str(path)
        self._inode = self._device = 0
        self._checked_until = 0.0

    def read(self) -> SqliteRead:
        self._check()
        return SqliteRead(self._context)

    def brief(self, seconds: float, /) -> SqliteBrief:
        self._check()
        return SqliteBrief(self._brief_context, seconds)

    def _brief_session(self) -> SqliteSession:
        return BriefSession(structs.replace(self._file, busy_timeout_ms=0).reader().connection)

    def write(self, *, unhurried: bool = False) -> SqliteWrite:  # noqa: ARG002 - here nothing waits for an answer
        self._check()
        return SqliteWrite(self._context)

    def brief_write(self, seconds: float, /) -> SqliteBriefWrite:
        self._check()
        return SqliteBriefWrite(self._context, seconds)

    def watch(self, room_id: str) -> Watch:
        self._check()
        return self._context.wakes.watch(room_id)

    def migrate(self, migrations: Sequence[Migration]) -> None:
        goal = fingerprint(migrations)
        with self.read() as rows:
            settled = rows.connection.pragma("user_version") == goal
        if not settled:
            self._context.schema.settle(())
            self._bring_up(migrations, goal)
        self._context.schema.settle((_SQL["create_migrations"].sqlite, *(each.sql for each in migrations)))

    def _bring_up(self, migrations: Sequence[Migration], goal: int) -> None:
        with self.write() as rows:
            rows.run(_SQL["create_migrations"])
            applied = dict(rows.all(_SQL["applied"], applied_migration))
            for each in missing_migrations(migrations, applied):
                rows.script(each.sql)
                rows.run(_SQL["record"], id=each.id, checksum=each.checksum)
            rows.script(f"PRAGMA user_version = {goal}")

    def describe(self) -> dict[str, object]:
        mount = mount_of(self._file.path, self._file.mounts())
        with self.read() as rows:
            settings = {name: rows.connection.pragma(name) for name in ("journal_mode", "foreign_keys", "busy_timeout")}
        return {
            "engine": self.engine,
            "version": apsw.sqlite_lib_version(),
            "driver": f"apsw {apsw.apsw_version()}",
            "location": str(self._file.path),
            "file_system": mount.kind if mount else "unknown",
            "bytes": self._file.path.stat().st_size,
            **settings,
            "synchronous": "full" if self._file.full_sync else "normal",
            "watcher": self._context.wakes.watcher,
        }

    def backup(self, target: Path) -> None:
        """Copy the store as it is now into a new file, while others go on writing."""
        with self.read() as rows:
            try:
                with os_errors(target):
                    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            except NotOurFile:
                raise BackupExists(f"{target} exists already; it was left alone.") from None
            try:
                self._copy(rows.connection, target)
            except apsw.Error as wrong:
                target.unlink()
                target.with_name(f"{target.name}-journal").unlink(missing_ok=True)
                raise from_sqlite(wrong, target) from wrong

    @staticmethod
    def _copy(source: SqliteConnection, target: Path) -> None:
        copy = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            with copy.backup("main", cast("apsw.Connection", source), "main") as copying:
                copying.step()
        finally:
            copy.close()

    def close(self) -> None:
        self._context.readers.close()
        self._brief_context.readers.close()
        self._context.writer.close()
        self._context.wakes.close()

    def _check(self) -> None:
        """Refuse once the file is not the one we opened: what is written to a deleted file is lost with it."""
        if monotonic() < self._checked_until:
            return
        try:
            about = stat(self._name)  # noqa: PTH116 - for every transaction, at half the price
            if about.st_ino == self._inode and about.st_dev == self._device:
                self._checked_until = monotonic() + CHECK_SECONDS
                return
        except OSError:
            pass
        if self._inode:
            raise StoreGone(f"{self._name} was moved, deleted or replaced while in use; nothing was changed.")
        self._prepare()

    def _prepare(self) -> None:
        """Check the place and create the store if there is none; may run in several threads at once."""
        self._file.prepare()
        if self._file.is_new:
            self._queue.acquire()
            try:
                self._file.create()
            finally:
                self._queue.release()
        with os_errors(self._file.path):
            about = self._file.path.stat()
        self._inode, self._device = about.st_ino, about.st_dev
