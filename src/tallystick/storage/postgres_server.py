"""A PostgreSQL server: how we connect to it, what every session sets, and how it is named without its password."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from time import monotonic
from typing import Any, TypeAlias

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.conninfo import conninfo_to_dict

from tallystick.storage.driver_errors import from_postgres
from tallystick.storage.errors import InvalidDatabaseUrl, StoreUnreachable
from tallystick.storage.postgres_statements import ServerSilent, Statements, run_script

SCHEMA = "tallystick"
DEFAULTS: Mapping[str, str] = {
    "application_name": "tallystick",
    "client_encoding": "utf8",
    "connect_timeout": "3",
    # A peer that vanished without a word must not hold a room's lock for hours.
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}
SETTINGS = f"""
SET search_path = {SCHEMA};
SET lock_timeout = {{patience_ms}};
SET idle_in_transaction_session_timeout = '60s';
SET client_min_messages = 'warning';
"""
SILENT_SECONDS = 2.0
"""After a server did not answer, so long nobody asks it anything; then one asks, and the others wait for its luck."""
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


class Outage:
    """Whether a server was silent a moment ago: its callers are told at once instead of all waiting for it in turn."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._until = 0.0

    def check(self) -> None:
        if self._until and monotonic() < self._until:
            raise StoreUnreachable(f"PostgreSQL at {self._location} does not answer.")

    def begin(self, seconds: float = SILENT_SECONDS) -> None:
        self._until = monotonic() + seconds

    @contextmanager
    def probing(self, seconds: float) -> Generator[None]:
        """Connect; while a server that was silent is asked again, nobody else does so."""
        if self._until:
            self.begin(seconds)
        try:
            yield
        except psycopg.errors.ConnectionTimeout:
            self.begin()
            raise
        self._until = 0.0


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
        self._connect_seconds = float(self._parameters["connect_timeout"]) or 60.0
        self.outage = Outage(self.location)

    @property
    def location(self) -> str:
        """Where the database is, without its password."""
        part = self._parameters
        user = f"{part['user']}@" if part.get("user") else ""
        return f"postgresql://{user}{part.get('host', '')}:{part.get('port', 5432)}/{part.get('dbname', '')}"

    def session(self) -> PostgresSession:
        return PostgresSession(self.connect())

    def connect(self, more: str = "") -> Link:
        """A connection on which all settings, and what is to be said besides, were heard in time."""
        try:
            with self.outage.probing(self._connect_seconds):
                connection = psycopg.connect(**self._parameters, autocommit=True, context=_adapters)
        except psycopg.Error as wrong:
            raise self._unreachable(wrong) from None
        try:
            run_script(connection, self._settings + more.encode(), self._connect_seconds)
        except psycopg.Error as wrong:
            connection.close()
            if isinstance(wrong, ServerSilent):
                self.outage.begin()
            raise from_postgres(wrong) from wrong
        return connection

    def _unreachable(self, wrong: psycopg.Error) -> StoreUnreachable:
        reason = str(wrong).partition("\n")[0].strip().rstrip(".")
        if self._password:
            reason = reason.replace(self._password, "…")
        return StoreUnreachable(f"PostgreSQL at {self.location} cannot be reached: {reason}.")
