"""Stores for tests: a SQLite file, or a database on a real PostgreSQL server that all workers share.

`TALLYSTICK_TEST_ENGINES=sqlite` leaves PostgreSQL out.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs]

from tallystick.hub import registry
from tallystick.storage.port import FILE, Store, open_store
from tests import memory
from tests.databases import ENGINES, EVERY_ENGINE, UsedAgain, empty_database, engine, serve
from tests.places import Place
from tests.scene import Scene
from tests.skips import pytest_runtest_makereport, pytest_terminal_summary
from tests.surfaces.hubs import hub
from tests.workers import ByModule, longest_first

__all__ = ["pytest_runtest_makereport", "pytest_terminal_summary"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs us in its background ignores Ctrl-C for all our children; theirs is under test.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says something about the machine, not about the code. Half as many as usual, in every run.
settings.register_profile("patient", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    memory.use_for_temporary_files(config)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    memory.give_back(session.config, exitstatus)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByModule:
    return ByModule(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    longest_first(config.rootpath, items)


def pytest_collection_finish() -> None:
    memory.leave_what_is_loaded_alone()


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
    with empty_database(postgres_server) as url, closing(UsedAgain(url)) as database:
        yield database


@pytest.fixture(scope="session")
def common_hub() -> Generator[Path]:
    """The data directory of a hub that runs as long as this worker; each test brings a workspace of its own.

    A command that asks a hub takes a sixth of the processor time of one that has to open the store itself.
    """
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        data_dir = Path(folder) / "data"
        with hub({"TALLYSTICK_DATA_DIR": str(data_dir), "TALLYSTICK_HTTP_RATE": "0"}):
            yield data_dir


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
