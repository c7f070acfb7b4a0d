"""Worlds for these tests: a hub that a module shares, or one of its own, on each engine, for who kills it."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.databases import EVERY_ENGINE, own_database
from tests.http.running import RunningHub
from tests.runtime.world import World


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


@pytest.fixture(scope="module")
def shared_hub() -> Generator[RunningHub]:
    with running(None) as hub:
        yield hub


@pytest.fixture
def world(shared_hub: RunningHub, tmp_path: Path) -> Generator[World]:
    """A room of its own on a shared hub."""
    with peopled(shared_hub, tmp_path) as world:
        yield world


@pytest.fixture(params=EVERY_ENGINE)
def lone_world(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[World]:
    """A world whose hub may be killed."""
    with own_database(request) as url, running(url) as hub, peopled(hub, tmp_path) as world:
        yield world
