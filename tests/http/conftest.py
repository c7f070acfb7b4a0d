"""Hubs for these tests: one per module, in this process wherever nothing about processes and sockets is tested."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.http.asgi import HubHere
from tests.http.running import OPEN, Client, RunningHub

UNLIMITED = {"TALLYSTICK_HTTP_RATE": "0"}
"""Tests ask faster than anybody should; how that is limited is tested elsewhere."""


@pytest.fixture(scope="module")
def hub() -> Generator[RunningHub]:
    """A hub in this process."""
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        hub = HubHere(Path(folder) / "data", environ=UNLIMITED).start()
        try:
            yield hub
        finally:
            hub.stop()


@pytest.fixture(scope="module")
def process_hub() -> Generator[RunningHub]:
    """A hub in a process of its own, with its sockets."""
    with running() as hub:
        yield hub


@contextmanager
def running() -> Generator[RunningHub]:
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        hub = RunningHub(Path(folder) / "data", environ=UNLIMITED).start()
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
