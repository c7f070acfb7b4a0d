"""Transactions on SQLite: a read is one snapshot, a write is `BEGIN IMMEDIATE` behind the queue of writers.

After a statement failed, a transaction can only be rolled back, as on PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Self, TypeVar

import apsw
import msgspec

from tallystick.kernel.errors import TallyError
from tallystick.storage import ended
from tallystick.storage.driver_errors import ROW_ERRORS, SQLITE_ERRORS, from_row
from tallystick.storage.errors import ForkedTransaction, TransactionFailed, TransactionOver
from tallystick.storage.pool import Pool
from tallystick.storage.port import Value
from tallystick.storage.queries import Query
from tallystick.storage.sqlite_file import Connection, Cursor, Session, SqliteFile
from tallystick.storage.sqlite_schema import Schema
from tallystick.storage.wakes import WakeFiles, checked
from tallystick.storage.write_queue import WriterConnection

T = TypeVar("T")


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """What all transactions of one store share."""

    file: SqliteFile
    readers: Pool[Session]
    writer: WriterConnection
    wakes: WakeFiles
    schema: Schema = msgspec.field(default_factory=Schema)
    columns: dict[Query, tuple[str, ...]] = msgspec.field(default_factory=dict[Query, tuple[str, ...]])


class SqliteRead:
    """One snapshot, taken at the first statement."""

    __slots__ = ("_execute", "_failure", "_home", "_session", "_streams")
    reading = True
    _execute: Callable[[str, Mapping[str, Value]], Cursor]
    """The session's own, or what refuses in its place: a check that costs nothing while all is well."""
    _session: Session

    def __init__(self, home: Home) -> None:
        self._home = home
        self._execute = ended.over
        self._streams: list[Cursor] | None = None
        self._failure: TallyError | None = None

    def __enter__(self) -> Self:
        session = self._session = self._home.readers.take(self)
        try:
            session.execute("BEGIN")
        except BaseException as wrong:
            self._home.readers.give(self, sound=False)
            if isinstance(wrong, apsw.Error):
                raise self._home.file.error(wrong) from wrong
            raise
        self._execute = session.execute
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._execute is not ended.forked:
            self._end()
            self._home.readers.give(self, self._roll_back())

    @property
    def connection(self) -> Connection:
        """For what SQLite alone can do: settings and backup."""
        return self._session.connection

    def one(self, query: Query, into: Callable[..., T], /, **values: Value) -> T | None:
        try:
            cursor = self._execute(query.sqlite, values)
            names = self._home.columns.get(query) or self._learn(query, cursor)
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
            names = self._home.columns.get(query) or self._learn(query, cursor)
            rows = cursor.fetchall()
        except SQLITE_ERRORS as wrong:
            raise self._fail(wrong) from wrong
        try:
            return [into(**dict(zip(names, row, strict=True))) for row in rows]
        except ROW_ERRORS as wrong:
            raise from_row(wrong, query) from wrong

    def stream(self, query: Query, into: Callable[..., T], /, **values: Value) -> Iterator[T]:
        # A stream has a cursor of its own, so that other statements may run between its rows.
        ended.refuse_if_ended(self._execute)
        cursor = self._session.connection.cursor()
        self._streams = [*(self._streams or ()), cursor]
        return self._flow(cursor, query, into, values)

    def _flow(self, cursor: Cursor, query: Query, into: Callable[..., T], values: Mapping[str, Value]) -> Generator[T]:
        try:
            cursor.execute(query.sqlite, values)
            names = self._home.columns.get(query) or self._learn(query, cursor)
        except SQLITE_ERRORS as wrong:
            raise self._fail(wrong) from wrong
        while True:
            ended.refuse_if_ended(self._execute)
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

    def abandon(self) -> None:
        self._execute = ended.forked

    def _end(self) -> None:
        self._execute = ended.over
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

    def _learn(self, query: Query, cursor: Cursor) -> tuple[str, ...]:
        """The names of a query's columns; a result without rows does not tell them."""
        try:
            names = tuple(name for name, *_ in cursor.get_description())
        except apsw.ExecutionCompleteError:
            return ()
        self._home.columns[query] = names
        return names

    def _fail(self, wrong: Exception, /) -> Exception:
        if isinstance(wrong, apsw.CursorClosedError):
            return TransactionOver()
        self._execute = ended.failed
        broken = isinstance(wrong, apsw.SQLError) and self._home.schema.is_broken(self._session.connection)
        failure = self._failure = self._home.file.error(wrong, reading=self.reading, schema_broken=broken)
        return failure


class SqliteWrite(SqliteRead):
    __slots__ = ("_rooms",)
    reading = False

    def __init__(self, home: Home) -> None:
        self._home = home
        self._execute = ended.over
        self._streams = self._failure = None
        self._rooms: set[str] | None = None

    def __enter__(self) -> Self:
        session = self._session = self._home.writer.take(self)
        try:
            session.execute("BEGIN IMMEDIATE")
        except BaseException as wrong:
            self._home.writer.give(self._roll_back())
            if isinstance(wrong, apsw.Error):
                raise self._home.file.error(wrong) from wrong
            raise
        self._execute = session.execute
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        execute = self._execute
        if kind is not None or execute is ended.failed or execute is ended.forked:
            self._give_up(silently=kind is not None)
            return
        self._end()
        try:
            execute("COMMIT", {})
        except BaseException as wrong:
            self._home.writer.give(self._roll_back())
            if isinstance(wrong, apsw.Error):
                raise self._home.file.error(wrong) from wrong
            raise
        self._home.writer.give(sound=True)
        if self._rooms:
            for room_id in self._rooms:
                self._home.wakes.touch(room_id)

    def _give_up(self, *, silently: bool) -> None:
        """Roll back; a block that ends well although a statement failed must still learn that nothing was written."""
        if self._execute is ended.forked:
            if not silently:
                raise ForkedTransaction
            return
        self._end()
        self._home.writer.give(self._roll_back())
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
