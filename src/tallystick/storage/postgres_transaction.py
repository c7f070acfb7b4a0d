"""Transactions on PostgreSQL: a read is one snapshot (REPEATABLE READ, READ ONLY), a write is READ COMMITTED.

Which writers exclude each other is said in SQL, by row locks. After a statement failed, a transaction can only be
rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self, TypeVar

import msgspec
import psycopg

from tallystick.kernel.errors import TallyError
from tallystick.storage.driver_errors import BINDING_ERRORS, ROW_ERRORS, from_postgres, from_row
from tallystick.storage.errors import OutcomeUnknown, TransactionFailed, TransactionOver, failed, over, refuse_if_ended
from tallystick.storage.pool import Pool
from tallystick.storage.port import Value
from tallystick.storage.postgres_server import Outage, PostgresSession
from tallystick.storage.postgres_statements import Result, ServerSilent, column_names
from tallystick.storage.sql_files import Query
from tallystick.storage.wake_files import checked

T = TypeVar("T")
CHANNEL = "tallystick"
STREAM_ROWS = 500
_ERRORS = (psycopg.Error, *BINDING_ERRORS)


class PostgresContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all transactions of one store share."""

    sessions: Pool[PostgresSession]
    outage: Outage
    answer_seconds: float
    """How long the server may take for one answer."""
    columns: dict[Query, tuple[str, ...]] = msgspec.field(default_factory=dict[Query, tuple[str, ...]])


class PostgresRead:
    reading = True
    # A reader holds no lock that others wait for, so it may take its time between two rows of a stream.
    begin: tuple[str, ...] = (
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    )
    _session: PostgresSession

    def __init__(self, context: PostgresContext, *, unhurried: bool = False) -> None:
        self._context = context
        self._answer_seconds = None if unhurried else context.answer_seconds
        self._execute: Callable[[Query, Mapping[str, Value]], Result] = over
        self._streams = 0
        self._untouched = True
        """Nothing but the beginning has been sent, so on a lost connection it may begin anew on another."""
        self._failure: TallyError | None = None

    def __enter__(self) -> Self:
        self._context.outage.check()
        session = self._context.sessions.take(self)
        try:
            self._session = self._start(session)
        except psycopg.Error as wrong:
            self._context.sessions.give(self, sound=False)
            self._mind(wrong)
            raise from_postgres(wrong) from wrong
        except BaseException:
            self._context.sessions.give(self, sound=False)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._execute = over
        self._context.sessions.give(self, self._leave())

    def one(self, query: Query, into: Callable[..., T], /, **values: Value) -> T | None:
        names, rows = self._read(query, values)
        try:
            return into(**dict(zip(names, rows[0], strict=True))) if rows else None
        except ROW_ERRORS as wrong:
            raise from_row(wrong, query) from wrong

    def all(self, query: Query, into: Callable[..., T], /, **values: Value) -> list[T]:
        names, rows = self._read(query, values)
        try:
            return [into(**dict(zip(names, row, strict=True))) for row in rows]
        except ROW_ERRORS as wrong:
            raise from_row(wrong, query) from wrong

    def stream(self, query: Query, into: Callable[..., T], /, **values: Value) -> Iterator[T]:
        refuse_if_ended(self._execute)
        self._streams += 1
        return self._flow(f"stream_{self._streams}", query, into, values)

    def _flow(self, cursor: str, query: Query, into: Callable[..., T], values: Mapping[str, Value]) -> Generator[T]:
        statements = self._session.statements
        refuse_if_ended(self._execute)
        try:
            statements.declare(cursor, query, values)
        except _ERRORS as wrong:
            raise self._fail(wrong) from wrong
        rows = [()] * STREAM_ROWS
        while len(rows) == STREAM_ROWS:
            refuse_if_ended(self._execute)
            try:
                result = statements.fetch(cursor, STREAM_ROWS)
                names, rows = column_names(result), statements.rows(result)
            except _ERRORS as wrong:
                raise self._fail(wrong) from wrong
            for row in rows:
                refuse_if_ended(self._execute)
                try:
                    made = into(**dict(zip(names, row, strict=True)))
                except ROW_ERRORS as wrong:
                    raise from_row(wrong, query) from wrong
                yield made

    def _read(self, query: Query, values: Mapping[str, Value]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        try:
            result = self._execute(query, values)
            rows = self._session.statements.rows(result)
        except _ERRORS as wrong:
            if self._untouched and self._session.lost:
                self._untouched = False
                self._session = self._begin(self._context.sessions.replace(self))
                return self._read(query, values)
            raise self._fail(wrong) from wrong
        self._untouched = False
        names = self._context.columns.get(query)
        if names is None:
            names = self._context.columns[query] = column_names(result)
        return names, rows

    def _start(self, session: PostgresSession) -> PostgresSession:
        """Begin; a connection that is known to have died in the pool is replaced."""
        try:
            session.statements.check()
        except ServerSilent:
            raise
        except psycopg.OperationalError:
            session = self._context.sessions.replace(self)
        session.statistics.refresh()
        return self._begin(session)

    def _begin(self, session: PostgresSession) -> PostgresSession:
        session.statements.answer_seconds = self._answer_seconds
        for statement in self.begin:
            session.statements.say(statement)
        self._execute = session.statements.run
        return session

    def _leave(self) -> bool:
        """Undo the transaction, if there is anything to undo; tells whether the connection is good for another."""
        if self._session.sound:
            with suppress(psycopg.Error):
                self._session.statements.leave("ROLLBACK")
        return self._session.sound

    def _mind(self, wrong: Exception) -> None:
        """A server that was silent to one caller is silent to all; idle connections to it are of no use."""
        if isinstance(wrong, ServerSilent):
            self._context.outage.begin()
            self._context.sessions.drop_idle()

    def _fail(self, wrong: Exception) -> TallyError:
        if self._execute is over:
            return TransactionOver()
        self._mind(wrong)
        self._execute = failed
        failure = self._failure = from_postgres(wrong, reading=self.reading)
        return failure


class PostgresWrite(PostgresRead):
    reading = False
    begin = ("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",)

    def __init__(self, context: PostgresContext, *, unhurried: bool = False) -> None:
        super().__init__(context, unhurried=unhurried)
        self._rooms: set[str] = set()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        last, committed = self._execute, False
        self._execute = over
        try:
            if kind is None and last is not failed:
                self._commit()
                committed = True
        finally:
            self._context.sessions.give(self, self._session.sound if committed else self._leave())
        if kind is None and not committed:
            raise TransactionFailed from self._failure

    def run(self, query: Query, /, **values: Value) -> None:
        refuse_if_ended(self._execute)
        self._untouched = False
        try:
            self._session.statements.send(query, values)
        except _ERRORS as wrong:
            raise self._fail(wrong) from wrong

    def script(self, sql: str) -> None:
        """Run statements that have no parameters."""
        refuse_if_ended(self._execute)
        try:
            self._session.statements.script(sql)
        except _ERRORS as wrong:
            raise self._fail(wrong) from wrong

    def wake(self, room_id: str) -> None:
        if room_id not in self._rooms:
            self._rooms.add(checked(room_id))

    def _commit(self) -> None:
        """Notify and commit in one round trip; the server delivers a notice only if the commit succeeds."""
        statements = self._session.statements
        try:
            for room_id in sorted(self._rooms):
                statements.say(f"SELECT pg_notify('{CHANNEL}', '{room_id}')")
            statements.say("COMMIT")
            statements.settle()
        except psycopg.Error as wrong:
            self._mind(wrong)
            if self._session.lost or isinstance(wrong, ServerSilent):
                raise OutcomeUnknown from wrong
            raise from_postgres(wrong) from wrong
