"""A PostgreSQL server: how we connect to it, what every session sets, and how it is named without its password."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, TypeAlias

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.conninfo import conninfo_to_dict

from tallystick.storage.driver_errors import from_postgres
from tallystick.storage.errors import InvalidDatabaseUrl, StoreUnreachable
from tallystick.storage.postgres_statements import Statements

SCHEMA = "tallystick"
DEFAULTS: Mapping[str, str] = {
    "application_name": "tallystick",
    "client_encoding": "utf8",
    "connect_timeout": "5",
    # A peer that vanished without a word must not hold a room's lock for hours.
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}
SETTINGS = f"""
SET search_path = {SCHEMA};
SET lock_timeout = {{patience_ms}};
SET idle_in_transaction_session_timeout = '60s';
SET client_min_messages = 'warning'
"""
FIRST_COUNT = 200
"""After so many statements on a connection it is looked at, and then each time after four times as many."""
OUTGROWN = """
SELECT relname FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    AND pg_relation_size(oid) > 4 * current_setting('block_size')::bigint * greatest(relpages, 1)
"""


Link: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"


class _NumericLoader(Loader):
    """A sum of integers is an integer on both engines."""

    def load(self, data: Buffer) -> int | float:
        number = Decimal(bytes(data).decode())
        return int(number) if number == number.to_integral_value() else float(number)


_adapters = AdaptersMap(psycopg.adapters)
_adapters.register_loader("numeric", _NumericLoader)


class Statistics:
    """What the server knows of how full our tables are: it plans by that, and keeps its plans.

    Autovacuum finds it out within minutes. Until then a new store is planned for as if it were empty, and such a plan
    may read a whole room to find one row.
    """

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._next = FIRST_COUNT

    def refresh(self) -> None:
        """Between two transactions: have tables counted that are four times as large as the server believes."""
        if self._statements.total < self._next:
            return
        self._next = 4 * self._statements.total
        # A server that refuses this, or is gone, will say so to whoever asks for something.
        with suppress(psycopg.Error):
            self._statements.say(OUTGROWN)
            names = [str(name) for (name,) in self._statements.rows(self._statements.settle())]
            if names:
                self._statements.say(f"ANALYZE (SKIP_LOCKED) {', '.join(names)}")
                self._statements.settle()


class PostgresSession:
    """A connection, the statements it knows, and what its server should know."""

    __slots__ = ("connection", "statements", "statistics")

    def __init__(self, connection: Link) -> None:
        self.connection = connection
        self.statements = Statements(connection)
        self.statistics = Statistics(self.statements)

    @property
    def lost(self) -> bool:
        return self.connection.closed

    @property
    def sound(self) -> bool:
        """Whether it is good for another transaction."""
        return not (self.statements.broken or self.connection.closed)

    def close(self) -> None:
        self.connection.close()


class PostgresServer:
    def __init__(self, url: str, patience: float) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            # The driver's message quotes the address, password and all.
            raise InvalidDatabaseUrl from None
        self._parameters: dict[str, Any] = {**DEFAULTS, **given}
        self._settings = SETTINGS.format(patience_ms=int(patience * 1000)).encode()
        self._password = str(given.get("password") or "")

    @property
    def location(self) -> str:
        """Where the database is, without its password."""
        part = self._parameters
        user = f"{part['user']}@" if part.get("user") else ""
        return f"postgresql://{user}{part.get('host', '')}:{part.get('port', 5432)}/{part.get('dbname', '')}"

    def session(self) -> PostgresSession:
        return PostgresSession(self.connect())

    def connect(self) -> Link:
        try:
            connection = psycopg.connect(**self._parameters, autocommit=True, context=_adapters)
        except psycopg.Error as wrong:
            raise self._unreachable(wrong) from None
        try:
            connection.execute(self._settings)
        except psycopg.Error as wrong:
            connection.close()
            raise from_postgres(wrong) from wrong
        return connection

    def _unreachable(self, wrong: psycopg.Error) -> StoreUnreachable:
        reason = str(wrong).partition("\n")[0].strip().rstrip(".")
        if self._password:
            reason = reason.replace(self._password, "…")
        return StoreUnreachable(f"PostgreSQL at {self.location} cannot be reached: {reason}.")
