from __future__ import annotations

import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.surfaces.hubs import RunningHub, hub


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def running(data_dir: Path) -> Generator[RunningHub]:
    with hub({"TALLYSTICK_DATA_DIR": str(data_dir)}) as running:
        yield running


@pytest.fixture(scope="module")
def standing() -> Generator[Path]:
    """The data directory of a hub that runs for all tests of a module."""
    with tempfile.TemporaryDirectory(prefix="tally-") as folder, hub({"TALLYSTICK_DATA_DIR": f"{folder}/data"}):
        yield Path(folder) / "data"
