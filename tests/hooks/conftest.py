from __future__ import annotations

from pathlib import Path

import pytest

from tests.hooks.desk import Desk
from tests.places import Place as Store
from tests.surfaces.cli.place import Place


@pytest.fixture
def desk(tmp_path: Path, common_hub: Path) -> Desk:
    """On the embedded store, with a hub to ask."""
    folder = tmp_path / "machine"
    folder.mkdir()
    return Desk(Place(root=folder, hub=common_hub))


@pytest.fixture
def lone_desk(tmp_path: Path) -> Desk:
    """On the embedded store, without a hub."""
    folder = tmp_path / "machine"
    folder.mkdir()
    return Desk(Place(root=folder))


@pytest.fixture
def any_desk(place: Store, lone_desk: Desk) -> Desk:
    """On each engine in turn, without a hub."""
    url = {"TALLYSTICK_DATABASE_URL": place.database_url} if place.database_url else {}
    return Desk(lone_desk.place, {"TALLYSTICK_DATA_DIR": str(place.data_dir), **url})
