"""Hubs for these tests: one per module and engine, since starting one takes longer than most of what is asked of it."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.databases import EVERY_ENGINE, own_database
from tests.http.running import OPEN, Client, RunningHub


@pytest.fixture(scope="module", params=EVERY_ENGINE)
def hub(request: pytest.FixtureRequest) -> Generator[RunningHub]:
    """A running hub, on each engine in turn."""
    with own_database(request) as url, running(url) as hub:
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
