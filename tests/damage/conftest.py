from __future__ import annotations

from pathlib import Path

import pytest

from tests.damage.data_directory import DataDirectory


@pytest.fixture
def directory(tmp_path: Path) -> DataDirectory:
    """A data directory with a sound store in it, closed."""
    directory = DataDirectory(tmp_path / "data")
    directory.fill()
    return directory


@pytest.fixture
def empty(tmp_path: Path) -> DataDirectory:
    """A data directory without a store."""
    (tmp_path / "data").mkdir(mode=0o700)
    return DataDirectory(tmp_path / "data")
