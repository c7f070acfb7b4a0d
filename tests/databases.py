"""Databases on a real PostgreSQL server that all workers share: empty ones, and one per worker that is used again.

Building the tables takes longer than most tests, so a worker builds them once; between two tests only rows go.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tallybench.postgres import start_server
from tallystick.hub import registry
from tallystick.storage.port import open_store
from tallystick.storage.postgres_server import SCHEMA

ENGINES = os.environ.get("TALLYSTICK_TEST_ENGINES", "sqlite,postgres").split(",")
EVERY_ENGINE = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'migrations' ORDER BY tablename"
SHAPE = """
    SELECT attrelid::regclass::text, attname, atttypid FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = %s::regnamespace AND NOT attisdropped ORDER BY attrelid, attnum
"""
STRANGERS = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def serve(run: str) -> str:
    """The address of the server of this test run: whoever asks first starts it, the last to leave deletes it."""
    server = start_server(Path(tempfile.gettempdir()) / f"tallystick-postgres-{run[:12]}", cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as admin:
        # The server lives for one run, so nothing need survive a power cut.
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            admin.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
        admin.execute("SELECT pg_reload_conf()")
    return server.get_uri()


@contextmanager
def empty_database(server: str) -> Generator[str]:
    """The address of a database without a single table."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(sql.Identifier(name)))
    yield make_conninfo(server, dbname=name)
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def engine(request: pytest.FixtureRequest) -> str:
    """The engine whose turn it is in a fixture over `EVERY_ENGINE`."""
    name: str = request.param
    if name not in ENGINES:
        pytest.skip(f"{name} is left out by TALLYSTICK_TEST_ENGINES")
    return name


@contextmanager
def own_database(request: pytest.FixtureRequest) -> Generator[str | None]:
    """What a fixture over `EVERY_ENGINE` starts a hub with: the address of an empty database, or None for SQLite."""
    if engine(request) == "sqlite":
        yield None
        return
    with empty_database(request.getfixturevalue("postgres_server")) as url:
        yield url


class UsedAgain:
    """A database with all our tables and no row in them."""

    def __init__(self, url: str) -> None:
        self.url = url
        store = open_store(url, Path())
        store.migrate(registry.schema())
        store.close()
        # Kept open: a new connection would spend most of the time on learning what the tables are.
        self._rows = psycopg.connect(url)
        with self._rows.transaction():
            tables = [sql.Identifier(SCHEMA, name) for (name,) in self._rows.execute(TABLES, [SCHEMA])]
            self._shape = self._rows.execute(SHAPE, [SCHEMA]).fetchall()
        self._delete = sql.SQL("; ").join(sql.SQL("DELETE FROM {}").format(table) for table in tables)

    def clear(self) -> None:
        """Part with whoever is still connected, then delete every row."""
        rows = self._rows
        with rows.transaction():
            rows.execute(STRANGERS)
            assert rows.execute(SHAPE, [SCHEMA]).fetchall() == self._shape, "a test that changes tables needs its own"
            rows.execute("SET LOCAL session_replication_role = replica")  # no foreign key stands in the way
            rows.execute(self._delete)

    def close(self) -> None:
        self._rows.close()
