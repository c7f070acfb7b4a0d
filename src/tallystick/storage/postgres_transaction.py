"""Transactions on PostgreSQL: a read is one snapshot (REPEATABLE READ, READ ONLY), a write is READ COMMITTED.

Which writers exclude each other is said in SQL, by row locks. After a statement failed, a transaction or savepoint can
only be rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar, cast

import psycopg

from tallystick.kernel.errors import TallyError
from tallystick.storage import ended
from tallystick.storage.driver_errors import BINDING_ERRORS, from_postgres
from tallystick.storage.errors import ForkedTransaction, OutcomeUnknown, TransactionFailed, TransactionOver
from tallystick.storage.pool import Pool
from tallystick.storage.port import Value
from tallystick.storage.postgres_server import Execute, Session
from tallystick.storage.queries import Query
from tallystick.storage.wakes import checked

T = TypeVar("T")
CHANNEL = "tallystick"
STREAM_ROWS = 500
_ERRORS = (psycopg.Error, *BINDING_ERRORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """What all transactions of one store share."""

    sessions: Pool[Session]
    columns: dict[Query, tuple[str, ...]] = field(default_factory=dict[Query, tuple[str, ...]])


class PostgresRead:
    reading = True
    # A reader holds no lock that others wait for, so it may take its time between two rows of a stream.
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0"
    _session: Session

    def __init__(self, home: Home) -> None:
        self._home = home
        self._execute: Execute = ended.over
        self._streams: list[psycopg.ServerCursor[tuple[Any, ...]]] = []
        self._failure: TallyError | None = None

    def __enter__(self) -> Self:
        session = self._home.sessions.take(self)
        try:
            session = self._session = self._start(session)
        except psycopg.Error as wrong:
            self._home.sessions.give(self, sound=False)
            raise from_postgres(wrong) from wrong
        except BaseException:
            self._home.sessions.give(self, sound=False)
            raise
        self._execute = session.execute
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._execute is not ended.forked:
            self._end()
            # Not a rollback where that can be helped: after one, psycopg forgets its prepared statements.
            self._home.sessions.give(self, self._finish("COMMIT"))

    def one(self, query: Query, into: Callable[..., T], /, **values: Value) -> T | None:
        try:
            cursor = self._execute(query.postgres, values)
            row = cursor.fetchone()
        except _ERRORS as wrong:
            raise self._fail(wrong) from wrong
        if row is None:
            return None
        return into(**dict(zip(self._names(query, cursor), row, strict=True)))

    def all(self, query: Query, into: Callable[..., T], /, **values: Value) -> list[T]:
        try:
            cursor = self._execute(query.postgres, values)
            rows = cursor.fetchall()
        except _ERRORS as wrong:
            raise self._fail(wrong) from wrong
        names = self._names(query, cursor)
        return [into(**dict(zip(names, row, strict=True))) for row in rows]

    def stream(self, query: Query, into: Callable[..., T], /, **values: Value) -> Iterator[T]:
        ended.refuse_if_ended(self._execute)
        cursor = self._session.connection.cursor(f"stream_{len(self._streams)}")
        cursor.itersize = STREAM_ROWS
        self._streams.append(cursor)
        return self._flow(cursor, query, into, values)

    def _flow(
        self,
        cursor: psycopg.ServerCursor[tuple[Any, ...]],
        query: Query,
        into: Callable[..., T],
        values: Mapping[str, Value],
    ) -> Generator[T]:
        try:
            cursor.execute(cast("Any", query.postgres), values)
            names = self._names(query, cursor)
            rows = iter(cursor)
        except _ERRORS as wrong:
            raise self._fail(wrong) from wrong
        while True:
            ended.refuse_if_ended(self._execute)
            try:
                row = next(rows, None)
            except _ERRORS as wrong:
                raise self._fail(wrong) from wrong
            if row is None:
                return
            yield into(**dict(zip(names, row, strict=True)))

    def abandon(self) -> None:
        self._execute = ended.forked

    def _start(self, session: Session) -> Session:
        """Begin; a connection that died in the pool is replaced once, since nothing has run on it yet."""
        try:
            session.execute(self.begin, None)
        except psycopg.OperationalError:
            if not session.lost:
                raise
            session = self._home.sessions.replace(self)
            session.execute(self.begin, None)
        return session

    def _end(self) -> None:
        self._execute = ended.over
        for cursor in self._streams:
            with suppress(psycopg.Error):
                cursor.close()

    def _finish(self, statement: str) -> bool:
        """Leave the transaction; tells whether the connection is good for another."""
        if not self._session.lost:
            with suppress(psycopg.Error):
                self._session.execute(statement, None)
        return self._session.idle

    def _names(self, query: Query, cursor: psycopg.Cursor[Any] | psycopg.ServerCursor[Any]) -> tuple[str, ...]:
        names = self._home.columns.get(query)
        if names is None:
            names = self._home.columns[query] = tuple(column.name for column in cursor.description or ())
        return names

    def _fail(self, wrong: Exception) -> TallyError:
        if self._execute is ended.over:
            return TransactionOver()
        self._execute = ended.failed
        failure = self._failure = from_postgres(wrong, reading=self.reading)
        return failure


class PostgresWrite(PostgresRead):
    reading = False
    begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._rooms: set[str] = set()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        last, committed = self._execute, False
        if last is ended.forked:
            if kind is None:
                raise ForkedTransaction
            return
        self._end()
        try:
            if kind is None and last is not ended.failed:
                self._commit()
                committed = True
        finally:
            self._home.sessions.give(self, self._session.idle if committed else self._finish("ROLLBACK"))
        if kind is None and not committed:
            raise TransactionFailed from self._failure

    def run(self, query: Query, /, **values: Value) -> int:
        try:
            return max(self._execute(query.postgres, values).rowcount, 0)
        except _ERRORS as wrong:
            raise self._fail(wrong) from wrong

    def script(self, sql: str) -> None:
        """Run statements that have no parameters."""
        try:
            self._execute(sql, None)
        except _ERRORS as wrong:
            raise self._fail(wrong) from wrong

    @contextmanager
    def savepoint(self) -> Generator[None]:
        self.script("SAVEPOINT part")
        try:
            yield
            self.script("RELEASE part")
        except BaseException:
            self._undo_part()
            raise

    def _undo_part(self) -> None:
        if self._execute not in (ended.over, ended.forked) and not self._session.lost:
            self._execute = self._session.execute
            with suppress(TallyError):
                self.script("ROLLBACK TO part; RELEASE part")

    def wake(self, room_id: str) -> None:
        if room_id not in self._rooms:
            self._rooms.add(checked(room_id))

    def _commit(self) -> None:
        """Notify and commit in one round trip; the server delivers a notice only if the commit succeeds."""
        notices = "".join(f"SELECT pg_notify('{CHANNEL}', '{room_id}');" for room_id in sorted(self._rooms))
        try:
            self._session.execute(f"{notices} COMMIT", None)
        except psycopg.Error as wrong:
            if self._session.lost:
                raise OutcomeUnknown from wrong
            raise from_postgres(wrong) from wrong
