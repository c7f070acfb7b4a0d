"""Statements on one connection, straight through libpq, prepared by the server when they come again.

psycopg's cursors wait for every answer in Python, which takes longer than most of our answers. Its lower layer and its
conversions do the same work in a third of the time; what it costs is that an interrupt waits for the answer too, which
`lock_timeout` bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from tallystick.storage.port import Value
from tallystick.storage.queries import Query

Result: TypeAlias = PGresult

STATEMENTS = 250
"""At most so many are prepared on a connection; the rest is parsed each time."""
UNKNOWN, BYTEA, INT8, FLOAT8 = 0, 17, 20, 701
_SOUND = {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}


class Statements:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._server = connection.pgconn
        self._conversions = Transformer.from_context(connection)
        self._names: dict[tuple[Query, tuple[int, ...]], bytes] = {}
        """The prepared statement for a query and the types of its parameters; empty after its first run."""
        self._numbers = count(1)

    def script(self, sql: str) -> None:
        """Run statements that have no parameters, in one round trip."""
        _sound(self._server.exec_(sql.encode()))

    def run(self, query: Query, values: Mapping[str, Value]) -> Result:
        bound = Bound.of(query, values)
        name = self._names.get((query, bound.types))
        if name is None:
            result = self._once(query.numbered, bound)
            if len(self._names) < STATEMENTS:
                # Whoever asks only once should not pay for a second round trip.
                self._names[query, bound.types] = b""
            return result
        prepared = name or self._prepare(query, bound.types)
        return _sound(self._server.exec_prepared(prepared, bound.values, bound.formats))

    def declare(self, cursor: str, query: Query, values: Mapping[str, Value]) -> None:
        """Open a cursor on a query; the end of the transaction closes it."""
        self._once(f"DECLARE {cursor} NO SCROLL CURSOR FOR {query.numbered}", Bound.of(query, values))

    def fetch(self, cursor: str, rows: int) -> Result:
        return _sound(self._server.exec_(f"FETCH {rows} FROM {cursor}".encode()))

    def rows(self, result: Result) -> list[tuple[Any, ...]]:
        self._conversions.set_pgresult(result)
        return self._conversions.load_rows(0, result.ntuples, tuple)

    def _once(self, sql: str, bound: Bound) -> Result:
        return _sound(self._server.exec_params(sql.encode(), bound.values, bound.types, bound.formats))

    def _prepare(self, query: Query, types: tuple[int, ...]) -> bytes:
        name = f"tally_{next(self._numbers)}".encode()
        _sound(self._server.prepare(name, query.numbered.encode(), types))
        self._names[query, types] = name
        return name


class Bound(NamedTuple):
    """The parameters of one call, in the order of their numbers."""

    values: list[Any]
    """Bytes, or None for NULL, which the driver's annotations forget."""
    types: tuple[int, ...]
    formats: Sequence[Format] | None

    @classmethod
    def of(cls, query: Query, values: Mapping[str, Value]) -> Bound:
        bound = [_bound(values[name]) for name in query.parameters]
        types = tuple([kind for _, kind in bound])
        formats = [Format.BINARY if kind == BYTEA else Format.TEXT for kind in types] if BYTEA in types else None
        return cls([value for value, _ in bound], types, formats)


def column_names(result: Result) -> tuple[str, ...]:
    return tuple((result.fname(number) or b"").decode() for number in range(result.nfields))


def _bound(value: Value) -> tuple[bytes | None, int]:
    """A value as the server reads it, and its type."""
    if isinstance(value, str):
        text = value.encode()
        if b"\0" in text:
            raise psycopg.DataError("PostgreSQL keeps no NUL character in a text")
        return text, UNKNOWN
    if value is None:
        return None, UNKNOWN
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise psycopg.DataError("the integer does not fit into 64 bits")
        # `int` also makes a number of a truth value, which is 1 or 0 on both engines.
        return str(int(value)).encode(), INT8
    if isinstance(value, float):
        return repr(value).encode(), FLOAT8
    return bytes(value), BYTEA


def _sound(result: Result) -> Result:
    if result.status in _SOUND:
        return result
    wrong = error_from_result(result)
    # Without a code it is libpq that speaks: the server is gone.
    raise wrong if wrong.sqlstate else psycopg.OperationalError(str(wrong))
