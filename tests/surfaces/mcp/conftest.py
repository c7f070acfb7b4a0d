from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from tests.conftest import Place
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


def _beside(stage: Stage, *, with_hub: bool) -> AbstractContextManager[object]:
    """A hub beside the servers, when they are not to work by themselves."""
    return hub(stage.env) if with_hub else nullcontext()


@pytest.fixture
def stage(tmp_path: Path, workspace: Path, revision: str) -> Generator[Stage]:
    """On the embedded store: the older revision alone, the newer one through a hub."""
    stage = Stage(env={"TALLYSTICK_DATA_DIR": str(tmp_path / "data")}, workspace=workspace, revision=revision)
    with _beside(stage, with_hub=revision == NEWEST):
        yield stage


@pytest.fixture
def any_stage(place: Place, workspace: Path, revision: str) -> Generator[Stage]:
    """On each engine in turn, each revision alone on the one and through a hub on the other: every pair, once."""
    url = {"TALLYSTICK_DATABASE_URL": place.database_url} if place.database_url else {}
    env = {"TALLYSTICK_DATA_DIR": str(place.data_dir), **url}
    stage = Stage(env=env, workspace=workspace, revision=revision)
    with _beside(stage, with_hub=(revision == NEWEST) is not bool(place.database_url)):
        yield stage
