"""Worlds for these tests: a hub on each engine that a module shares, or one of its own for who kills it."""

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
from tests.http.running import RunningHub
from tests.runtime.world import World

every_engine = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


def database(request: pytest.FixtureRequest) -> str | None:
    if request.param not in ENGINES:
        pytest.skip(f"{request.param} is left out by TALLYSTICK_TEST_ENGINES")
    if request.param == "sqlite":
        return None
    server: str = request.getfixturevalue("postgres_server")
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(sql.Identifier(name)))
    return make_conninfo(server, dbname=name)


@contextmanager
def running(database_url: str | None) -> Generator[RunningHub]:
    # A path that is short enough for sockets, which pytest's own are not.
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        hub = RunningHub(Path(folder) / "data", database_url, environ={"TALLYSTICK_HTTP_RATE": "0"}).start()
        try:
            yield hub
        finally:
            hub.stop()


@contextmanager
def peopled(hub: RunningHub, folder: Path) -> Generator[World]:
    world = World(hub, folder)
    try:
        yield world
    finally:
        world.close()


@pytest.fixture(scope="module", params=every_engine)
def shared_hub(request: pytest.FixtureRequest) -> Generator[RunningHub]:
    with running(database(request)) as hub:
        yield hub


@pytest.fixture(scope="module")
def sqlite_hub() -> Generator[RunningHub]:
    with running(None) as hub:
        yield hub


@pytest.fixture
def world(sqlite_hub: RunningHub, tmp_path: Path) -> Generator[World]:
    """A room of its own, for what does not depend on the engine."""
    with peopled(sqlite_hub, tmp_path) as world:
        yield world


@pytest.fixture
def every_world(shared_hub: RunningHub, tmp_path: Path) -> Generator[World]:
    """A room of its own on a shared hub, on each engine in turn."""
    with peopled(shared_hub, tmp_path) as world:
        yield world


@pytest.fixture(params=every_engine)
def lone_world(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[World]:
    """A world whose hub may be killed."""
    with running(database(request)) as hub, peopled(hub, tmp_path) as world:
        yield world
