"""A scene in a real git repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.storage.port import Store
from tests.agents.repository import repository
from tests.scene import Scene


@pytest.fixture
def scene(store: Store, tmp_path: Path) -> Scene:
    return Scene(store, repository(tmp_path / "repo").resolve())
