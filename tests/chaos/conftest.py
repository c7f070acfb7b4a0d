from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tallystick.hub.settings import Settings
from tests.chaos.fleet import Fleet
from tests.places import Place


@pytest.fixture
def fleet(place: Place, tmp_path: Path) -> Generator[Fleet]:
    """Nobody yet; its workers will share one store, on each engine in turn."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    fleet = Fleet(Settings(data_dir=place.data_dir, database_url=place.database_url), folder)
    yield fleet
    fleet.close()
