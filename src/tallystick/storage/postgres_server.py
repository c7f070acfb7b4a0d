"""A PostgreSQL server: how we connect to it, what every session sets, and how it is named without its password."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, TypeAlias, cast

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.conninfo import conninfo_to_dict

from tallystick.storage.driver_errors import from_postgres
from tallystick.storage.errors import InvalidDatabaseUrl, StoreUnreachable
from tallystick.storage.postgres_statements import Statements
from tallystick.storage.postgres_statistics import Statistics

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

Link: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"


class _NumericLoader(Loader):
    """A sum of integers is an integer on both engines."""

    def load(self, data: Buffer) -> int | float:
        number = Decimal(bytes(data).decode())
        return int(number) if number == number.to_integral_value() else float(number)


_adapters = AdaptersMap(psycopg.adapters)
_adapters.register_loader("numeric", _NumericLoader)


class Session:
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
        self._settings = SETTINGS.format(patience_ms=int(patience * 1000))
        self._password = str(given.get("password") or "")

    @property
    def location(self) -> str:
        """Where the database is, without its password."""
        part = self._parameters
        user = f"{part['user']}@" if part.get("user") else ""
        return f"postgresql://{user}{part.get('host', '')}:{part.get('port', 5432)}/{part.get('dbname', '')}"

    def session(self) -> Session:
        return Session(self.connect())

    def connect(self) -> Link:
        try:
            connection = psycopg.connect(**self._parameters, autocommit=True, context=_adapters)
        except psycopg.Error as wrong:
            raise self._unreachable(wrong) from None
        try:
            connection.execute(cast("Any", self._settings))
        except psycopg.Error as wrong:
            connection.close()
            raise from_postgres(wrong) from wrong
        return connection

    def _unreachable(self, wrong: psycopg.Error) -> StoreUnreachable:
        reason = str(wrong).partition("\n")[0].strip().rstrip(".")
        if self._password:
            reason = reason.replace(self._password, "…")
        return StoreUnreachable(f"PostgreSQL at {self.location} cannot be reached: {reason}.")


_left: list[object] = []


def leave(session: Session | Link | None) -> None:
    """In a forked child: cut the parent's connection off from this process without telling the server."""
    if session is None:
        return
    _left.append(session)
    connection = session.connection if isinstance(session, Session) else session
    with suppress(psycopg.Error, OSError):
        # The socket is shared. With something else in its place nothing here can speak on it, and the server notices
        # when the parent dies.
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(nowhere, connection.fileno(), inheritable=False)
        os.close(nowhere)
