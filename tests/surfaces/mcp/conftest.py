from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.mcp.stage import MODES, Stage

NEWEST = "2026-07-28"


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
def stage(tmp_path: Path, common_hub: Path, workspace: Path, revision: str) -> Stage:
    """The older revision alone, the newer one through a hub."""
    return _staged(common_hub if revision == NEWEST else tmp_path / "data", workspace, revision)


@pytest.fixture
def served(common_hub: Path, workspace: Path, revision: str) -> Stage:
    """Each revision through a hub, for what the same server says alone too."""
    return _staged(common_hub, workspace, revision)


@pytest.fixture(params=[False, True], ids=["alone", "through_a_hub"])
def every_stage(
    request: pytest.FixtureRequest, tmp_path: Path, common_hub: Path, workspace: Path, revision: str
) -> Stage:
    """Each revision alone and through a hub."""
    return _staged(common_hub if request.param else tmp_path / "data", workspace, revision)


def _staged(data_dir: Path, workspace: Path, revision: str) -> Stage:
    return Stage(env={"TALLYSTICK_DATA_DIR": str(data_dir)}, workspace=workspace, revision=revision)
