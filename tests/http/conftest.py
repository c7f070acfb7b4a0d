"""Hubs for these tests: one per module and engine, since starting one takes longer than most of what is asked of it."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.conftest import ENGINES
from tests.http.running import OPEN, Client, RunningHub


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def hub(request: pytest.FixtureRequest) -> Generator[RunningHub]:
    """A running hub, on each engine in turn."""
    if request.param not in ENGINES:
        pytest.skip(f"{request.param} is left out by TALLYSTICK_TEST_ENGINES")
    url: str | None = None
    if request.param == "postgres":
        server: str = request.getfixturevalue("postgres_server")
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(sql.Identifier(name)))
        url = make_conninfo(server, dbname=name)
    with running(url) as hub:
        yield hub


@pytest.fixture(scope="module")
def sqlite_hub() -> Generator[RunningHub]:
    """A running hub for what does not depend on the engine."""
    with running(None) as hub:
        yield hub


@contextmanager
def running(database_url: str | None) -> Generator[RunningHub]:
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        # Tests ask faster than anybody should; how that is limited is tested elsewhere.
        hub = RunningHub(Path(folder) / "data", database_url, environ={"TALLYSTICK_HTTP_RATE": "0"}).start()
        try:
            yield hub
        finally:
            hub.stop()


@pytest.fixture(autouse=True)
def no_stream_stays_open() -> Generator[None]:
    yield
    for stream in OPEN:
        stream.close()
    OPEN.clear()


@pytest.fixture
def user(hub: RunningHub) -> Client:
    return hub.user


@pytest.fixture
def room(user: Client) -> str:
    return user.room()
