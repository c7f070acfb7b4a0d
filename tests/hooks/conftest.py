from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Place as Store
from tests.hooks.desk import Desk
from tests.surfaces.cli.place import Place


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """On the embedded store."""
    folder = tmp_path / "machine"
    folder.mkdir()
    return Desk(Place(root=folder))


@pytest.fixture
def any_desk(place: Store, desk: Desk) -> Desk:
    """On each engine in turn."""
    url = {"TALLYSTICK_DATABASE_URL": place.database_url} if place.database_url else {}
    return Desk(desk.place, {"TALLYSTICK_DATA_DIR": str(place.data_dir), **url})
