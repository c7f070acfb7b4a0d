"""The shared store: a PostgreSQL database for several machines. All our tables live in the schema `tallystick`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import psycopg

from tallystick.storage.errors import BackupUnsupported
from tallystick.storage.migrations import Migration, applied_migration, missing
from tallystick.storage.pool import LimitedPool
from tallystick.storage.port import NotBrief, Watch
from tallystick.storage.postgres_listener import PostgresListener
from tallystick.storage.postgres_server import SCHEMA, PostgresServer, PostgresSession
from tallystick.storage.postgres_transaction import PostgresContext, PostgresRead, PostgresWrite
from tallystick.storage.queries import Queries
from tallystick.storage.wake_files import checked

IDLE_CONNECTIONS = 8
CONNECTIONS = 24
"""At most this many per process; a server allows a hundred in all by default."""
MIGRATION_LOCK = 0x54414C59
_SQL = Queries("tallystick.storage")
_SERVER = Queries("tallystick.storage", "postgres_queries.sql")


def _there(there: bool) -> bool:
    return there


def _applied(rows: PostgresRead) -> dict[str, str]:
    return dict(rows.all(_SQL["applied"], applied_migration))


class PostgresStore:
    """Does nothing until first used."""

    engine = "postgres"

    def __init__(self, url: str, *, patience: float = 5.0) -> None:
        self._server = PostgresServer(url, patience)
        self._context = PostgresContext(
            sessions=LimitedPool(
                self._server.session,
                PostgresSession.close,
                keep=IDLE_CONNECTIONS,
                limit=CONNECTIONS,
                patience=patience,
            )
        )
        self._listener = PostgresListener(self._server.connect)

    def read(self) -> PostgresRead:
        return PostgresRead(self._context)

    def brief(self, _seconds: float, /) -> PostgresRead:
        raise NotBrief

    def write(self) -> PostgresWrite:
        return PostgresWrite(self._context)

    def brief_write(self, _seconds: float, /) -> PostgresWrite:
        raise NotBrief

    def watch(self, room_id: str) -> Watch:
        return self._listener.watch(checked(room_id))

    def migrate(self, migrations: Sequence[Migration]) -> None:
        with self.read() as rows:
            if rows.one(_SERVER["has_migrations"], _there) and not missing(migrations, _applied(rows)):
                return
        with self.write() as rows:
            # Whoever else migrates at this moment may need longer than the usual patience with locks.
            rows.script(f"SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
            if not rows.one(_SERVER["has_schema"], _there):
                rows.script(f"CREATE SCHEMA {SCHEMA}")
            rows.run(_SQL["create_migrations"])
            for each in missing(migrations, _applied(rows)):
                rows.script(each.postgres)
                rows.run(_SQL["record"], id=each.id, checksum=each.checksum)

    def describe(self) -> dict[str, object]:
        with self.read() as rows:
            settings = rows.one(_SERVER["settings"], dict[str, object])
        return {
            "engine": self.engine,
            "driver": f"psycopg {psycopg.__version__}",
            "location": self._server.location,
            "schema": SCHEMA,
            **(settings or {}),
        }

    def backup(self, target: Path) -> None:
        raise BackupUnsupported(f"Tallystick does not back up a PostgreSQL server; {target} was not written.")

    def close(self) -> None:
        self._context.sessions.close()
        self._listener.close()
