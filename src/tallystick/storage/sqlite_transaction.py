"""Transactions on SQLite: a read is one snapshot, a write is `BEGIN IMMEDIATE` behind the queue of writers.

After a statement failed, a transaction can only be rolled back, as on PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from math import inf
from time import monotonic
from typing import Self, TypeVar, cast

import apsw
import msgspec

from tallystick.kernel.errors import TallyError, Unavailable
from tallystick.storage.driver_errors import ROW_ERRORS, SQLITE_ERRORS, from_row
from tallystick.storage.errors import TransactionFailed, TransactionOver, failed, over, refuse_if_ended
from tallystick.storage.pool import Pool
from tallystick.storage.port import NotBrief, Value
from tallystick.storage.queries import Query
from tallystick.storage.sqlite_file import Schema, SqliteConnection, SqliteCursor, SqliteFile, SqliteSession
from tallystick.storage.wake_files import WakeFiles, checked
from tallystick.storage.write_queue import WriterConnection

T = TypeVar("T")
STEPS = 500
"""Of SQLite's machine between two readings of the clock: some ten microseconds."""


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
        session = self._session = self._context.writer.take()
        try:
            session.execute("BEGIN IMMEDIATE")
        except BaseException as wrong:
            self._context.writer.give(self._roll_back())
            if isinstance(wrong, apsw.Error):
                raise self._context.file.error(wrong) from wrong
            raise
        self._execute = session.execute
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        execute = self._execute
        if kind is not None or execute is failed:
            self._give_up(silently=kind is not None)
            return
        self._end()
        try:
            execute("COMMIT", {})
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


class BriefSession(SqliteSession):
    __slots__ = ("until",)

    def __init__(self, connection: SqliteConnection) -> None:
        super().__init__(connection)
        self.until = inf
        connection.set_progress_handler(self._late, STEPS)

    def _late(self) -> bool:
        return monotonic() >= self.until


class SqliteBrief(SqliteRead):
    """A read that is over in a moment or not done at all, for an event loop that nobody may hold up.

    It has connections of its own that wait for no lock, and it reads the clock before every statement, every few steps
    inside one, and at every row. Whatever keeps it from ending in time, the thorough read will find out and say.
    """

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
