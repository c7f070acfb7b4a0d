from __future__ import annotations

from pathlib import Path

import pytest

from tests.damage.house import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A data directory with a sound store in it, closed."""
    house = House(tmp_path / "data")
    house.furnish()
    return house


@pytest.fixture
def empty(tmp_path: Path) -> House:
    """A data directory without a store."""
    (tmp_path / "data").mkdir(mode=0o700)
    return House(tmp_path / "data")
