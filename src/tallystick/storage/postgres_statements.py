"""Statements on one connection, straight through libpq: sent one behind the other, answered together.

A statement whose result nobody asks for is only sent; what becomes of it is learnt with the next one that is asked for.
So a transaction takes as many round trips as it has questions, not as many as it has statements. psycopg's own cursors
wait for each answer, and in Python, which takes longer than most of our answers; its lower layer and its conversions
are used without them.
"""

from __future__ import annotations

import select
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGresult

from tallystick.storage.port import Value
from tallystick.storage.sql_files import Query

Result: TypeAlias = PGresult
STATEMENTS = 250
"""At most so many are prepared on a connection; the rest is parsed each time."""
AHEAD = 100
"""At most so many statements are sent before their outcome is looked at."""
UNKNOWN, BYTEA, INT8, FLOAT8 = 0, 17, 20, 701
_SOUND = {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}


class ServerSilent(psycopg.OperationalError):
    """The server did not answer in time. It has not gone either: a frozen process, a stalled disk, a dead network."""


def await_answer(answers: select.poll, seconds: float | None) -> None:
    """Wait until there is something to read, or to write."""
    if not answers.poll(None if seconds is None else seconds * 1000):
        raise ServerSilent(f"the server has not answered for {seconds:g} s")


def run_script(connection: psycopg.Connection[Any], script: bytes, seconds: float) -> None:
    """Run statements without parameters on a new connection."""
    server, answers = connection.pgconn, select.poll()
    answers.register(server.socket, select.POLLIN)
    server.send_query(script)
    result: Result | None = None
    while True:
        while server.is_busy():
            await_answer(answers, seconds)
            server.consume_input()
        result = server.get_result()
        if result is None:
            return
        _sound(result)


class Statements:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.answer_seconds: float | None = None
        """How long an answer may take; None for work that takes as long as it takes."""
        self._server = connection.pgconn
        self._server.enter_pipeline_mode()
        self._conversions = Transformer.from_context(connection)
        self._poll = select.poll()
        self._poll.register(self._server.socket, select.POLLIN)
        self._both = select.poll()
        self._both.register(self._server.socket, select.POLLIN | select.POLLOUT)
        self._ahead = self._syncs = 0
        """Statements since the last mark, and marks in the stream of answers, that have not come back yet."""
        self._names: dict[tuple[Query, tuple[int, ...]], bytes] = {}
        self._unsure: list[tuple[Query, tuple[int, ...]]] = []
        """What was prepared since the last mark: after an error before it, the server has not seen it."""
        self._numbers = count(1)
        self.total = 0
        """How many were sent so far."""
        self.broken = False
        """Interrupted in the middle of an answer: the connection is good for nothing more."""

    def check(self) -> None:
        """Raise when the connection died while nobody used it."""
        self._answers()
        while self._poll.poll(0):
            self._server.consume_input()

    def send(self, query: Query, values: Mapping[str, Value]) -> None:
        """Run a query without waiting for it."""
        self._limit_ahead()
        bound = Bound.of(query, values)
        name = self._names.get((query, bound.types)) or self._prepare(query, bound.types)
        if name:
            self._server.send_query_prepared(name, bound.values, bound.formats)
        else:
            self._server.send_query_params(query.numbered.encode(), bound.values, bound.types, bound.formats)
        # Not kept back until somebody waits: the server works on it while the next one is being made.
        self._server.flush()
        self._sent()

    def run(self, query: Query, values: Mapping[str, Value]) -> Result:
        """Run a query and wait for its result; an error may be that of one sent before."""
        self.send(query, values)
        return self.settle()

    def say(self, sql: str) -> None:
        """Run one statement that has no parameters, without waiting for it."""
        self._limit_ahead()
        self._server.send_query_params(sql.encode(), None)
        self._sent()

    def declare(self, cursor: str, query: Query, values: Mapping[str, Value]) -> None:
        """Open a cursor on a query; the end of the transaction closes it."""
        self._limit_ahead()
        bound = Bound.of(query, values)
        sql = f"DECLARE {cursor} NO SCROLL CURSOR FOR {query.numbered}".encode()
        self._server.send_query_params(sql, bound.values, bound.types, bound.formats)
        self._sent()

    def fetch(self, cursor: str, rows: int) -> Result:
        self.say(f"FETCH {rows} FROM {cursor}")
        return self.settle()

    def script(self, sql: str) -> None:
        """Run any number of statements that have no parameters."""
        self.settle()
        self._server.exit_pipeline_mode()
        try:
            _sound(self._server.exec_(sql.encode()))
        finally:
            self._server.enter_pipeline_mode()

    def leave(self, ending: str) -> None:
        """End the transaction, whatever became of what was sent, without waiting for it."""
        if self._ahead:
            self.mark()
        self.say(ending)
        self.mark()

    def settle(self) -> Result:
        """Wait for everything that was sent; the result is the last one's."""
        self.mark()
        return self._answers()

    def mark(self) -> None:
        """Send what is waiting. An error makes the server skip what follows, up to the mark."""
        self._server.pipeline_sync()
        self._syncs += 1
        self._ahead = 0
        self._server.flush()

    def rows(self, result: Result) -> list[tuple[Any, ...]]:
        self._conversions.set_pgresult(result)
        return self._conversions.load_rows(0, result.ntuples, tuple)

    def _limit_ahead(self) -> None:
        """Before a statement and not after it: its own result would be gone when it is asked for."""
        if self._ahead >= AHEAD:
            self.settle()

    def _sent(self) -> None:
        self._ahead += 1
        self.total += 1

    def _answers(self) -> Result:
        """The last result before the last mark; raises the first error."""
        last: Result | None = None
        wrong: Result | None = None
        while self._syncs:
            if self._server.is_busy():
                self._await()
            result = self._server.get_result()
            if result is None:
                # Between the results of two statements.
                if self._server.status == ConnStatus.BAD:
                    raise psycopg.OperationalError("the connection is lost")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                self._syncs -= 1
            elif result.status in _SOUND:
                last = result
            elif result.status != ExecStatus.PIPELINE_ABORTED:
                wrong = wrong or result
        unsure, self._unsure = self._unsure, []
        if wrong:
            for each in unsure:
                self._names.pop(each, None)
            _sound(wrong)
        return last  # pyright: ignore[reportReturnType] - who asks has sent something

    def _await(self) -> None:
        """Wait for the next result so that other threads go on meanwhile and an interrupt ends it."""
        try:
            while self._server.is_busy():
                # What did not fit into the socket at once is sent as the server takes it.
                await_answer(self._both if self._server.flush() else self._poll, self.answer_seconds)
                self._server.consume_input()
        except BaseException:
            self.broken = True
            raise

    def _prepare(self, query: Query, types: tuple[int, ...]) -> bytes:
        if len(self._names) >= STATEMENTS:
            return b""
        name = f"tally_{next(self._numbers)}".encode()
        self._server.send_prepare(name, query.numbered.encode(), types)
        self._sent()
        self._names[query, types] = name
        self._unsure.append((query, types))
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
