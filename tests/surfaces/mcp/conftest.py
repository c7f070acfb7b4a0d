from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Place
from tests.surfaces.mcp.stage import MODES, Stage


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=list(MODES))
def revision(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "AGENTS.md").touch()
    return folder


@pytest.fixture
def stage(tmp_path: Path, workspace: Path, revision: str) -> Stage:
    """On the embedded store, in both revisions."""
    return Stage(env={"TALLYSTICK_DATA_DIR": str(tmp_path / "data")}, workspace=workspace, revision=revision)


@pytest.fixture
def any_stage(place: Place, workspace: Path, revision: str) -> Stage:
    """On each engine in turn, in both revisions."""
    url = {"TALLYSTICK_DATABASE_URL": place.database_url} if place.database_url else {}
    return Stage(env={"TALLYSTICK_DATA_DIR": str(place.data_dir), **url}, workspace=workspace, revision=revision)
