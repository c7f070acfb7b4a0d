"""A hub whose PostgreSQL server hangs, or is not there yet."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.http.asgi import HubHere
from tests.http.running import TALLY, RunningHub
from tests.storage.flaky import FlakyNetwork
from tests.waiting import until

pytestmark = pytest.mark.postgres


@pytest.fixture
def network(postgres_url: str) -> Generator[FlakyNetwork]:
    network = FlakyNetwork(postgres_url)
    yield network
    network.close()


def test_a_server_that_hangs_is_told_to_callers_and_to_the_health_check(tmp_path: Path, network: FlakyNetwork) -> None:
    hub = HubHere(tmp_path / "data", database_url=network.url, environ={"TALLYSTICK_HTTP_RATE": "0"}).start()
    try:
        room = hub.user.room()
        network.freeze()
        with ThreadPoolExecutor() as pool:
            writing = pool.submit(hub.user.post, "events.append", {"room_id": room, "kind": "x.test.event", "data": {}})
            health = hub.user.get("/healthz")
            told_before = not writing.done()
            write = writing.result()
        read = hub.user.post("events.list", {"room_id": room})
        network.thaw()

        until(lambda: hub.user.get("/healthz").status == 200)
        again = hub.user.append(room)
        assert (health.status, told_before) == (503, True)
        assert write.refused in {(503, "store_unreachable"), (503, "outcome_unknown")}
        assert (write.error["retryable"], read.refused) == (True, (503, "store_unreachable"))
        assert again == 2
    finally:
        network.thaw()
        hub.stop()


def test_a_hub_waits_for_a_database_that_is_not_there_yet(tmp_path: Path, postgres_url: str) -> None:
    elsewhere = tmp_path / "server"
    elsewhere.mkdir()
    parts = conninfo_to_dict(postgres_url)
    port = parts.get("port") or 5432
    hub = RunningHub(tmp_path / "data", database_url=make_conninfo(postgres_url, host=str(elsewhere)))
    waiting = subprocess.Popen(
        [TALLY, "up", "--port", "0"], env=hub.settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert waiting.stderr
        assert waiting.stdout
        told = waiting.stderr.readline()
        (elsewhere / f".s.PGSQL.{port}").symlink_to(Path(str(parts["host"])) / f".s.PGSQL.{port}")

        assert told.startswith("PostgreSQL at ")
        assert told.endswith("Waiting for it, up to 60 s.\n")
        assert waiting.stdout.readline().startswith("Tallystick runs. Open its page: ")
    finally:
        waiting.terminate()
        waiting.communicate()


def test_a_hub_that_shall_not_wait_says_what_is_missing(tmp_path: Path) -> None:
    hub = RunningHub(tmp_path / "data", database_url="postgresql://nobody@127.0.0.1:1/none")

    said = hub.control("up", "--port", "0", "--database-wait", "0")

    assert said.returncode == 3
    assert "cannot be reached" in said.stderr
