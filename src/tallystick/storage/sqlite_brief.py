"""A read that is over in a moment or not done at all, for an event loop that nobody may hold up.

It has connections of its own that wait for no lock, and it looks at the clock before every statement, every few steps
inside one, and at every row. Whatever keeps it from ending in time, the thorough read will find out and say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf
from time import monotonic
from typing import Self, TypeVar, cast

from tallystick.kernel.errors import Unavailable
from tallystick.storage import ended
from tallystick.storage.port import NotBrief, Value
from tallystick.storage.queries import Query
from tallystick.storage.sqlite_file import Connection, Cursor, Session
from tallystick.storage.sqlite_transaction import Home, SqliteRead

T = TypeVar("T")

STEPS = 500
"""Of SQLite's machine between two looks at the clock: some ten microseconds."""


class BriefSession(Session):
    __slots__ = ("until",)

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.until = inf
        connection.set_progress_handler(self._late, STEPS)

    def _late(self) -> bool:
        return monotonic() >= self.until


class SqliteBrief(SqliteRead):
    __slots__ = ("_until",)

    def __init__(self, home: Home, seconds: float) -> None:
        super().__init__(home)
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

    def _run(self, sql: str, values: Mapping[str, Value]) -> Cursor:
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
        self._execute = ended.failed
        return NotBrief()
