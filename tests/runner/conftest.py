from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from tallystick.hub.settings import Settings
from tests.places import Place
from tests.runner.shift import Shift


@pytest.fixture
def shift(common_hub: Path, tmp_path: Path) -> Generator[Shift]:
    """A room with nobody to work in it yet. What the hub does about jobs is tested on both engines elsewhere."""
    with closing(Shift(Settings(data_dir=common_hub), tmp_path)) as shift:
        yield shift


@pytest.fixture
def lone_shift(tmp_path: Path) -> Generator[Shift]:
    """The same where no hub runs yet."""
    with closing(Shift(Settings(data_dir=tmp_path / "data"), tmp_path)) as shift:
        yield shift


@pytest.fixture
def any_shift(place: Place, tmp_path: Path) -> Generator[Shift]:
    """The same on each engine in turn."""
    with closing(Shift(Settings(data_dir=place.data_dir, database_url=place.database_url), tmp_path)) as shift:
        yield shift
