from __future__ import annotations

from pathlib import Path

import pytest

from tests.hooks.hooked import HookedWorkspace
from tests.places import Place as Store
from tests.surfaces.cli.place import Place


@pytest.fixture
def hooked(tmp_path: Path, common_hub: Path) -> HookedWorkspace:
    """On the embedded store, with a hub to ask."""
    folder = tmp_path / "machine"
    folder.mkdir()
    return HookedWorkspace(Place(root=folder, hub=common_hub))


@pytest.fixture
def lone_desk(tmp_path: Path) -> HookedWorkspace:
    """On the embedded store, without a hub."""
    folder = tmp_path / "machine"
    folder.mkdir()
    return HookedWorkspace(Place(root=folder))


@pytest.fixture
def any_hooked(place: Store, lone_desk: HookedWorkspace) -> HookedWorkspace:
    """On each engine in turn, without a hub."""
    url = {"TALLYSTICK_DATABASE_URL": place.database_url} if place.database_url else {}
    return HookedWorkspace(lone_desk.place, {"TALLYSTICK_DATA_DIR": str(place.data_dir), **url})
