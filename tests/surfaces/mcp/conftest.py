from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.conftest import Place
from tests.surfaces.hubs import hub
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


@pytest.fixture(params=["alone", "through a hub"])
def serving(request: pytest.FixtureRequest) -> Callable[[Stage], AbstractContextManager[Stage]]:
    """Whether the servers work by themselves or for a hub that runs beside them."""

    @contextmanager
    def serve(stage: Stage) -> Generator[Stage]:
        with hub(stage.env) if request.param == "through a hub" else nullcontext():
            yield stage

    return serve


@pytest.fixture
def stage(
    tmp_path: Path, workspace: Path, revision: str, serving: Callable[[Stage], AbstractContextManager[Stage]]
) -> Generator[Stage]:
    """On the embedded store, in both revisions, with and without a hub."""
    env = {"TALLYSTICK_DATA_DIR": str(tmp_path / "data")}
    with serving(Stage(env=env, workspace=workspace, revision=revision)) as stage:
        yield stage


@pytest.fixture
def any_stage(
    place: Place, workspace: Path, revision: str, serving: Callable[[Stage], AbstractContextManager[Stage]]
) -> Generator[Stage]:
    """On each engine in turn, in both revisions, with and without a hub."""
    url = {"TALLYSTICK_DATABASE_URL": place.database_url} if place.database_url else {}
    env = {"TALLYSTICK_DATA_DIR": str(place.data_dir), **url}
    with serving(Stage(env=env, workspace=workspace, revision=revision)) as stage:
        yield stage
