"""Stores for tests: a SQLite file, or a database on a real PostgreSQL server that all workers share.

`TALLYSTICK_TEST_ENGINES=sqlite` leaves PostgreSQL out.
"""

from __future__ import annotations

import os
import shutil
import signal
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs]

from tallystick.hub import registry
from tallystick.storage.open import FILE, open_store
from tallystick.storage.port import Store
from tests.databases import ENGINES, EVERY_ENGINE, UsedAgain, empty_database, engine, serve
from tests.scene import Scene
from tests.skips import pytest_runtest_makereport, pytest_terminal_summary
from tests.workers import ByModule

__all__ = ["pytest_runtest_makereport", "pytest_terminal_summary"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs us in its background ignores Ctrl-C for all our children; theirs is under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says something about the machine, not about the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByModule:
    return ByModule(config, log)


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
    return serve(RUN)


@pytest.fixture
def postgres_url(postgres_server: str) -> Generator[str]:
    """An empty database for one test."""
    with empty_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def database(postgres_server: str) -> Generator[UsedAgain]:
    """The database of this worker."""
    with empty_database(postgres_server) as url:
        yield UsedAgain(url)


@pytest.fixture(scope="session")
def new_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all our tables and no row in them."""
    folder = tmp_path_factory.mktemp("new")
    store = open_store(None, folder)
    store.migrate(registry.schema())
    store.close()
    return folder / FILE


@pytest.fixture(params=EVERY_ENGINE)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Place]:
    """A store with its tables and nothing in them, on each engine in turn."""
    data_dir = tmp_path / "data"
    if engine(request) == "sqlite":
        data_dir.mkdir(mode=0o700)
        shutil.copy(request.getfixturevalue("new_file"), data_dir / FILE)
        yield Place(data_dir=data_dir, database_url=None)
        return
    database: UsedAgain = request.getfixturevalue("database")
    yield Place(data_dir=data_dir, database_url=database.url)
    database.clear()


@pytest.fixture
def store(place: Place) -> Generator[Store]:
    """That store, open."""
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
