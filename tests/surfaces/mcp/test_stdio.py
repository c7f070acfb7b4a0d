"""`tally mcp` as a program: its options, its output, and what it does without a store."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tallystick.surfaces.mcp.server import INSTRUCTIONS
from tests.surfaces.mcp.stage import SERVER, Stage, bare_environment
from tests.surfaces.mcp.wire import wired


def run(*args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SERVER, *args],
        env={**bare_environment(), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_says_what_the_sets_are_and_touches_nothing(tmp_path: Path) -> None:
    done = run("--help", env={"TALLYSTICK_DATA_DIR": str(tmp_path / "data")})

    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: tally mcp" in done.stdout
    assert all(name in done.stdout for name in ("core", "daily", "full", "TALLYSTICK_MCP_TOOLS"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "env"), [(["--tools", "everything"], {}), ([], {"TALLYSTICK_MCP_TOOLS": "everything"})]
)
def test_a_tool_set_that_does_not_exist_is_refused(args: list[str], env: Mapping[str, str]) -> None:
    done = run(*args, env=env)

    assert (done.returncode, done.stdout) == (2, "")
    assert "'everything' is not one of 'core', 'daily', 'full'." in done.stderr


def test_a_client_that_says_nothing_and_leaves_is_no_error(tmp_path: Path) -> None:
    done = run(env={"TALLYSTICK_DATA_DIR": str(tmp_path / "data")})

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
@pytest.mark.parametrize(("tools", "count"), [("core", 9), ("daily", 9), ("full", 14)])
async def test_the_set_is_chosen_by_the_option_before_the_variable(stage: Stage, tools: str, count: int) -> None:
    command = (*SERVER, "--tools", tools)
    async with stage.agent("ada", *command, env={"TALLYSTICK_MCP_TOOLS": "core"}) as agent:
        listed = await agent.client.list_tools()

    named = [tool.name for tool in listed.tools if tool.output_schema]
    assert (len(named), len(listed.tools) > len(named)) == (count, tools != "core")


@pytest.mark.parametrize(
    "rule",
    [
        ("list_rooms",),
        ("join_path", "even if"),
        ("wait_for_turn", "your_turn", "no shared work before"),
        ("handoff first", "artifacts"),
        ("heartbeat",),
        ("turn_id", "lease_id", "every call", "never a name"),
        ("stale_lease", "turn_mismatch", "unknown_member", "stop"),
        ("true status", "next_action"),
        ("release_stick (next in sequence)",),
        ("pass_stick (one member)",),
        ("takeover_stick, with a reason", "only when", "get_room_events"),
    ],
)
def test_the_instructions_name_each_rule_of_the_loop(rule: tuple[str, ...]) -> None:
    text = " ".join(INSTRUCTIONS.split())

    assert [words for words in rule if words not in text] == []


@pytest.mark.anyio
async def test_the_instructions_fit_on_twelve_lines(stage: Stage) -> None:
    async with stage.agent("ada") as agent:
        text = agent.client.instructions if stage.revision == "2025-11-25" else None

    assert text is None or (len(text.splitlines()) <= 12 and "wait_for_turn" in text)


@pytest.mark.parametrize(
    "broken",
    [
        {"TALLYSTICK_DATA_DIR": "/dev/null/nowhere"},
        {"TALLYSTICK_DATABASE_URL": "postgresql://127.0.0.1:1/nothing?connect_timeout=2"},
        {"TALLYSTICK_DATABASE_URL": "nonsense"},
    ],
    ids=["folder", "server", "address"],
)
@pytest.mark.anyio
async def test_without_a_store_the_server_starts_and_every_call_says_why(
    stage: Stage, broken: Mapping[str, str]
) -> None:
    async with stage.agent("ada", env=broken) as agent:
        tools = await agent.client.list_tools()
        refusals = [await agent.refused(tool) for tool in ("list_rooms", "join_path")]

    assert tools.tools
    assert all(refusal["hint"] and refusal["message"] for refusal in refusals)
    assert "internal_fault" not in [refusal["error"] for refusal in refusals]


@pytest.mark.anyio
async def test_a_store_that_comes_back_is_found_without_a_restart(stage: Stage, tmp_path: Path) -> None:
    data = tmp_path / "late"
    data.write_text("in the way", "utf-8")
    async with stage.agent("ada", env={"TALLYSTICK_DATA_DIR": str(data)}) as agent:
        await agent.refused("list_rooms")
        data.unlink()

        assert await agent.call("list_rooms") == {"rooms": []}


def test_only_the_protocol_is_written_to_standard_output(stage: Stage) -> None:
    with wired(stage, "ada") as wire:
        wire.call("join_path")
        code = wire.hang_up()
        assert wire.process.stdout
        rest = wire.process.stdout.read()

    assert (code, rest) == (0, "")


def test_a_client_that_stops_reading_and_leaves_is_no_error(stage: Stage) -> None:
    with wired(stage, "ada") as wire:
        assert wire.process.stdout
        wire.process.stdout.close()
        wire.request("tools/list")

        assert wire.hang_up() == 0


def test_an_interrupt_ends_the_server_at_once(stage: Stage) -> None:
    with wired(stage, "ada") as wire:
        wire.call("list_rooms")
        os.kill(wire.process.pid, signal.SIGINT)

        assert wire.process.wait() == -signal.SIGINT
