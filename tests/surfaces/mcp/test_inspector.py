"""The MCP Inspector, another implementation of the protocol, lists and calls our tools."""

from __future__ import annotations

import json
import subprocess
from typing import cast

import pytest

from tests import npm
from tests.surfaces.mcp.stage import SERVER, Stage, bare_environment, rows

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

PACKAGE = "@modelcontextprotocol/inspector-cli@0.15.0"


def inspect(stage: Stage, method: str, *args: str) -> dict[str, object]:
    inspector = npm.installed(PACKAGE) / ".bin" / "mcp-inspector-cli"
    settings = [part for name, value in stage.env.items() for part in ("-e", f"{name}={value}")]
    done = subprocess.run(
        [inspector, "--cli", *settings, *SERVER, "--method", method, *args],
        env=bare_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return cast("dict[str, object]", json.loads(done.stdout))


@pytest.fixture
def revision() -> str:
    return "2025-11-25"


def test_the_inspector_lists_the_tools(stage: Stage) -> None:
    tools = rows(inspect(stage, "tools/list"), "tools")

    assert [tool["name"] for tool in tools][:3] == ["list_rooms", "join_path", "wait_for_turn"]


def test_the_inspector_calls_a_tool(stage: Stage) -> None:
    result = inspect(stage, "tools/call", "--tool-name", "join_path", "--tool-arg", f"context_path={stage.workspace}")

    joined = result["structuredContent"]
    assert isinstance(joined, dict)
    assert (joined["canonical_path"], result.get("isError", False)) == (str(stage.workspace), False)


def test_the_inspector_shows_a_refusal(stage: Stage) -> None:
    result = inspect(stage, "tools/call", "--tool-name", "get_room_state", "--tool-arg", "room_id=nowhere")

    refusal = result["structuredContent"]
    assert isinstance(refusal, dict)
    assert (refusal["error"], result["isError"]) == ("room_not_found", True)
