"""Transactions on SQLite: a read is one snapshot, a write is `BEGIN IMMEDIATE` on the one connection that writes.

After a statement failed, a transaction can only be rolled back, as on PostgreSQL.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Self, TypeVar

import apsw
import msgspec

from tallystick.kernel.errors import TallyError
from tallystick.storage.driver_errors import ROW_ERRORS, SQLITE_ERRORS, from_row
from tallystick.storage.errors import ForkedStore, TransactionFailed, TransactionOver, failed, over, refuse_if_ended
from tallystick.storage.pool import Pool
from tallystick.storage.port import Value
from tallystick.storage.sql_files import Query
from tallystick.storage.sqlite_file import Schema, SqliteConnection, SqliteCursor, SqliteFile, SqliteSession
from tallystick.storage.wake_files import WakeFiles, checked
from tallystick.storage.write_queue import WriteQueue

T = TypeVar("T")
LOG_BYTES = 16 * 1024 * 1024
"""Of pages in the log, after which it is copied into the database. SQLite's own measure, a thousand pages, are some
eighty messages, and a copy waits for the disk twice, however little it copies."""
STEPS = 500
"""Of SQLite's machine between two readings of the clock: some ten microseconds."""


class BriefSession(SqliteSession):
    """A connection whose statements are interrupted when their time is up."""

    __slots__ = ("until",)

    def __init__(self, connection: SqliteConnection) -> None:
        super().__init__(connection)
        self.until = inf
        connection.set_progress_handler(self._late, STEPS)

    def _late(self) -> bool:
        return monotonic() >= self.until


class WriterSession(BriefSession):
    """The connection that writes. It copies the log into the database itself, but not for a brief write."""

    __slots__ = ("_brief", "_busy_timeout_ms", "_log_limit", "_log_pages")

    def __init__(self, connection: SqliteConnection, busy_timeout_ms: int) -> None:
        super().__init__(connection)
        self._busy_timeout_ms = busy_timeout_ms
        self._brief = False
        self._log_pages = 0
        self._log_limit = LOG_BYTES // int(str(connection.pragma("page_size")))
        """In pages, whose size a store keeps from its first day."""
        connection.set_wal_hook(self._committed)

    @property
    def checkpoint_due(self) -> bool:
        return self._log_pages >= self._log_limit

    def take_until(self, until: float) -> None:
        """How long the next transaction may take; with a limit it waits neither for locks nor for a copy of the log."""
        self.until = until
        brief = until != inf
        if brief != self._brief:
            self._brief = brief
            self.connection.set_busy_timeout(0 if brief else self._busy_timeout_ms)

    def _committed(self, connection: SqliteConnection, _database: str, pages: int) -> int:
        self._log_pages = pages
        if self.checkpoint_due and not self._brief:
            # Others may be in its way; then it is due after the next commit again.
            with suppress(apsw.Error):
                connection.wal_checkpoint()
        return apsw.SQLITE_OK


class WriterConnection:
    """The one connection of this process that writes; its user is the one that holds the queue."""

    def __init__(self, file: SqliteFile, queue: WriteQueue) -> None:
        self._file, self._queue = file, queue
        self._pid = os.getpid()
        self._session: WriterSession | None = None
        self._closed = False

    def take(self) -> WriterSession:
        self._refuse_in_fork()
        self._queue.acquire()
        return self._connected()

    def take_at_once(self) -> WriterSession | None:
        """The connection, unless somebody else writes or queues."""
        self._refuse_in_fork()
        return self._connected() if self._queue.acquire_at_once() else None

    def _refuse_in_fork(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedStore

    def _connected(self) -> WriterSession:
        session = self._session
        if session is None:
            try:
                session = self._session = WriterSession(self._file.writer(), self._file.busy_timeout_ms)
            except BaseException:
                self.give(sound=False)
                raise
        return session

    def give(self, sound: bool) -> None:
        if not sound or self._closed:
            self._disconnect()
        self._queue.release()
        if self._closed:
            self._queue.close()

    def close(self) -> None:
        """At once when nobody writes, else when that write ends."""
        self._closed = True
        if self._queue.pause():
            self._disconnect()
            self._queue.close()
            self._queue.resume()

    def _disconnect(self) -> None:
        if self._session:
            self._session.close()
            self._session = None


class SqliteContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all transactions of one store share."""

    file: SqliteFile
    readers: Pool[SqliteSession]
    writer: WriterConnection
    wakes: WakeFiles
    schema: Schema = msgspec.field(default_factory=Schema)
    columns: dict[Query, tuple[str, ...]] = msgspec.field(default_factory=dict[Query, tuple[str, ...]])


class SqliteRead:
    """One snapshot, taken at the first statement."""

    __slots__ = ("_context", "_execute", "_failure", "_session", "_streams")
    reading = True
    _execute: Callable[[str, Mapping[str, Value]], SqliteCursor]
    """The session's own, or what refuses in its place: a check that costs nothing while all is well."""
    _session: SqliteSession

    def __init__(self, context: SqliteContext) -> None:
        self._context = context
        self._execute = over
        self._streams: list[SqliteCursor] | None = None
        self._failure: TallyError | None = None

    def __enter__(self) -> Self:
        session = self._session = self._context.readers.take(self)
        try:
            session.execute("BEGIN")
        except BaseException as wrong:
            self._context.readers.give(self, sound=False)
            if isinstance(wrong, apsw.Error):
                raise self._context.file.error(wrong) from wrong
            raise
        self._execute = session.execute
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._end()
        self._context.readers.give(self, self._roll_back())

    @property
    def connection(self) -> SqliteConnection:
        """For what SQLite alone can do: settings and backup."""
        return self._session.connection

    def one(self, query: Query, into: Callable[..., T], /, **values: Value) -> T | None:
        try:
            cursor = self._execute(query.sqlite, values)
            names = self._context.columns.get(query) or self._learn(query, cursor)
            row = cursor.fetchone()
        except SQLITE_ERRORS as wrong:
            raise self._fail(wrong) from wrong
        try:
            return None if row is None else into(**dict(zip(names, row, strict=True)))
        except ROW_ERRORS as wrong:
            raise from_row(wrong, query) from wrong

    def all(self, query: Query, into: Callable[..., T], /, **values: Value) -> list[T]:
        try:
            cursor = self._execute(query.sqlite, values)
            names = self._context.columns.get(query) or self._learn(query, cursor)
            rows = cursor.fetchall()
        except SQLITE_ERRORS as wrong:
            raise self._fail(wrong) from wrong
        try:
            return [into(**dict(zip(names, row, strict=True))) for row in rows]
        except ROW_ERRORS as wrong:
            raise from_row(wrong, query) from wrong

    def stream(self, query: Query, into: Callable[..., T], /, **values: Value) -> Iterator[T]:
        # A stream has a cursor of its own, so that other statements may run between its rows.
        refuse_if_ended(self._execute)
        cursor = self._session.connection.cursor()
        self._streams = [*(self._streams or ()), cursor]
        return self._flow(cursor, query, into, values)

    def _flow(
        self, cursor: SqliteCursor, query: Query, into: Callable[..., T], values: Mapping[str, Value]
    ) -> Generator[T]:
        try:
            cursor.execute(query.sqlite, values)
            names = self._context.columns.get(query) or self._learn(query, cursor)
        except SQLITE_ERRORS as wrong:
            raise self._fail(wrong) from wrong
        while True:
            refuse_if_ended(self._execute)
            try:
                row = cursor.fetchone()
            except SQLITE_ERRORS as wrong:
                raise self._fail(wrong) from wrong
            if row is None:
                return
            try:
                made = into(**dict(zip(names, row, strict=True)))
            except ROW_ERRORS as wrong:
                raise from_row(wrong, query) from wrong
            yield made

    def _end(self) -> None:
        self._execute = over
        if self._streams:
            for cursor in self._streams:
                cursor.close(True)

    def _roll_back(self) -> bool:
        """Whether the connection is good for another transaction."""
        try:
            if self._session.connection.in_transaction:
                self._session.execute("ROLLBACK")
        except apsw.Error:
            return False
        return True

    def _learn(self, query: Query, cursor: SqliteCursor) -> tuple[str, ...]:
        """The names of a query's columns; a result without rows does not tell them."""
        try:
            names = tuple(name for name, *_ in cursor.get_description())
        except apsw.ExecutionCompleteError:
            return ()
        self._context.columns[query] = names
        return names

    def _fail(self, wrong: Exception, /) -> Exception:
        if isinstance(wrong, apsw.CursorClosedError):
            return TransactionOver()
        self._execute = failed
        broken = isinstance(wrong, apsw.SQLError) and self._context.schema.is_broken(self._session.connection)
        failure = self._failure = self._context.file.error(wrong, reading=self.reading, schema_broken=broken)
        return failure


class SqliteWrite(SqliteRead):
    __slots__ = ("_rooms",)
    reading = False

    def __init__(self, context: SqliteContext) -> None:
        self._context = context
        self._execute = over
        self._streams = self._failure = None
        self._rooms: set[str] | None = None

    def __enter__(self) -> Self:
        self._begin(self._context.writer.take(), inf)
        return self

    def _begin(self, session: WriterSession, until: float) -> None:
        self._session = session
        try:
            session.take_until(until)
            session.execute("BEGIN IMMEDIATE")
        except BaseException as wrong:
            self._context.writer.give(self._roll_back())
            if isinstance(wrong, apsw.Error):
                raise self._context.file.error(wrong) from wrong
            raise
        self._execute = session.execute

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        execute = self._execute
        if kind is not None or execute is failed:
            self._give_up(silently=kind is not None)
            return
        self._end()
        try:
            self._session.execute("COMMIT", {})
        except BaseException as wrong:
            self._context.writer.give(self._roll_back())
            if isinstance(wrong, apsw.Error):
                raise self._context.file.error(wrong) from wrong
            raise
        self._context.writer.give(sound=True)
        if self._rooms:
            for room_id in self._rooms:
                self._context.wakes.touch(room_id)

    def _give_up(self, *, silently: bool) -> None:
        """Roll back; a block that ends well although a statement failed must still learn that nothing was written."""
        self._end()
        self._context.writer.give(self._roll_back())
        if not silently:
            raise TransactionFailed from self._failure

    def run(self, query: Query, /, **values: Value) -> None:
        try:
            self._execute(query.sqlite, values)
        except SQLITE_ERRORS as wrong:
            raise self._fail(wrong) from wrong

    def script(self, sql: str) -> None:
        """Run statements that have no parameters."""
        try:
            self._execute(sql, {}).fetchall()
        except SQLITE_ERRORS as wrong:
            raise self._fail(wrong) from wrong

    def wake(self, room_id: str) -> None:
        if self._rooms is None:
            self._rooms = {checked(room_id)}
        elif room_id not in self._rooms:
            self._rooms.add(checked(room_id))
