"""A read or write that is over in a moment or not done at all, for an event loop that nobody may hold up.

It waits for no lock, and it reads the clock before every statement, every few steps inside one, and at every row
that is read. Whatever keeps it from ending in time, the thorough one will find out and say. Reads have connections of
their own. A write takes the writer's if nobody else writes or queues, and leaves copying the log to the thorough ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf
from time import monotonic
from typing import Self, TypeVar, cast

from tallystick.kernel.errors import Unavailable
from tallystick.storage.errors import failed
from tallystick.storage.port import NotBrief, Value
from tallystick.storage.queries import Query
from tallystick.storage.sqlite_file import SqliteCursor
from tallystick.storage.sqlite_transaction import BriefSession, SqliteContext, SqliteRead, SqliteWrite

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
