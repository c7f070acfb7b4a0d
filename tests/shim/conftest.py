from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.mcp.stage import MODES, Stage


@pytest.fixture
def modern_stage(tmp_path: Path) -> Stage:
    """No hub yet, and a protocol without a handshake."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "AGENTS.md").touch()
    return Stage(env={"TALLYSTICK_DATA_DIR": str(tmp_path / "data")}, workspace=workspace, revision="2026-07-28")


@pytest.fixture
def served_stage(modern_stage: Stage, common_hub: Path) -> Stage:
    """With a hub, for what no revision of the protocol has a part in."""
    return Stage(
        env={"TALLYSTICK_DATA_DIR": str(common_hub)}, workspace=modern_stage.workspace, revision=modern_stage.revision
    )


@pytest.fixture(params=list(MODES))
def stage(modern_stage: Stage, request: pytest.FixtureRequest) -> Stage:
    """No hub yet; in both revisions of the protocol."""
    return Stage(env=modern_stage.env, workspace=modern_stage.workspace, revision=request.param)
