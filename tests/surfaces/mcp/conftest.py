from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.surfaces.hubs import hub
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
def stage(tmp_path: Path, workspace: Path, revision: str) -> Generator[Stage]:
    """The older revision alone, the newer one through a hub."""
    with _staged(tmp_path, workspace, revision, with_hub=revision == NEWEST) as stage:
        yield stage


@pytest.fixture(params=[False, True], ids=["alone", "through_a_hub"])
def every_stage(request: pytest.FixtureRequest, tmp_path: Path, workspace: Path, revision: str) -> Generator[Stage]:
    """Each revision alone and through a hub."""
    with _staged(tmp_path, workspace, revision, with_hub=request.param) as stage:
        yield stage


@contextmanager
def _staged(folder: Path, workspace: Path, revision: str, *, with_hub: bool) -> Generator[Stage]:
    stage = Stage(env={"TALLYSTICK_DATA_DIR": str(folder / "data")}, workspace=workspace, revision=revision)
    with hub(stage.env) if with_hub else nullcontext():
        yield stage
