"""What a person may choose beside: tools without a question, another name, a matcher of their own, a status line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest

from tests.install.machine import HARNESSES, TALLY, Machine

every_harness = pytest.mark.parametrize("harness", HARNESSES)


def read(path: Path) -> dict[str, Any]:
    text = path.read_text("utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def allowed(machine: Machine, harness: str, name: str = "tally") -> object:
    servers, settings = machine.files(harness, "user")[:2]
    if harness == "claude":
        return f"mcp__{name}" in read(settings).get("permissions", {}).get("allow", [])
    if harness == "codex":
        return read(servers)["mcp_servers"][name].get("default_tools_approval_mode") == "approve"
    return read(servers)["mcpServers"][name].get("trust") is True


@every_harness
def test_one_setting_lets_our_tools_run_and_the_diff_shows_it(machine: Machine, harness: str) -> None:
    before = machine.tree()
    shown = machine.place.run("install", harness, "--hooks", "--allow-tools", "--print").out
    machine.install(harness, "--hooks")
    asked = allowed(machine, harness)

    machine.install(harness, "--hooks", "--allow-tools")
    again = machine.install(harness, "--hooks")

    setting = {"claude": '"mcp__tally"', "codex": 'default_tools_approval_mode = "approve"', "gemini": '"trust": true'}
    assert [line[0] for line in shown.splitlines() if setting[harness] in line] == ["+"]
    assert (asked, allowed(machine, harness)) == (False, True)
    assert {row["action"] for row in again.rows("files")} == {"unchanged"}, "what was agreed to stays"
    machine.uninstall(harness)
    assert machine.tree() == before


def test_a_permission_is_taken_back_after_claude_code_wrote_its_settings_anew(machine: Machine) -> None:
    machine.install("claude", "--allow-tools")
    settings = machine.files("claude", "user")[1]
    found = read(settings)
    found["permissions"]["allow"].append("Bash(ls:*)")
    settings.write_text(json.dumps(found), "utf-8")

    machine.uninstall("claude")

    assert read(settings) == {"permissions": {"allow": ["Bash(ls:*)"]}}


@every_harness
def test_where_the_name_is_taken_ours_takes_another_and_keeps_it(machine: Machine, harness: str) -> None:
    servers = machine.files(harness, "user")[0]
    servers.parent.mkdir(parents=True, exist_ok=True)
    prime = (
        '[mcp_servers.tally]\ncommand = "prime"\n'
        if harness == "codex"
        else '{"mcpServers": {"tally": {"command": "prime"}}}'
    )
    servers.write_text(prime, "utf-8")
    refused = machine.install(harness)

    machine.install(harness, "--name", "tallystick", "--allow-tools")
    again = machine.install(harness)

    assert refused.error["hint"] == f"Give ours another name: `tally install {harness} --name tallystick`."
    found = read(servers)["mcp_servers" if harness == "codex" else "mcpServers"]
    assert (found["tally"]["command"], found["tallystick"]["args"][-1]) == ("prime", "mcp")
    assert allowed(machine, harness, "tallystick")
    assert {row["action"] for row in again.rows("files")} == {"unchanged"}
    machine.uninstall(harness)
    assert servers.read_text("utf-8") == prime


@every_harness
def test_a_matcher_that_the_person_widened_stays(machine: Machine, harness: str) -> None:
    machine.install(harness, "--hooks")
    hooks = machine.files(harness, "user")[-2]
    text = hooks.read_text("utf-8")
    event = "BeforeTool" if harness == "gemini" else "PreToolUse"
    ours = read(hooks)["hooks"][event][0]["matcher"]
    hooks.write_text(text.replace(json.dumps(ours), json.dumps(f"{ours}|mcp__serena__.*"), 1), "utf-8")
    # The programs move, so that everything of ours is written anew.
    hooks.write_text(hooks.read_text("utf-8").replace(TALLY, "/old/tally"), "utf-8")

    machine.install(harness, "--hooks")

    (group,) = read(hooks)["hooks"][event]
    assert group["matcher"] == f"{ours}|mcp__serena__.*"
    assert "/old/tally" not in hooks.read_text("utf-8")


@every_harness
def test_it_says_when_the_harness_is_not_there_and_that_it_will_ask(machine: Machine, harness: str) -> None:
    first = machine.install(harness)
    program = machine.place.root / "bin" / harness
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    second = machine.place.run("--json", "install", harness, "--allow-tools", env=path)

    hints = cast("list[str]", first.data["next"])
    assert any("is not here" in hint for hint in hints)
    assert any("--allow-tools" in hint for hint in hints)
    assert "is not here" not in second.out
    assert "--allow-tools" not in second.out


def test_the_status_line_is_asked_for_and_taken_back(machine: Machine) -> None:
    before = machine.tree()
    machine.install("claude", "--hooks")
    settings = machine.files("claude", "user")[1]
    without = "statusLine" in read(settings)

    machine.install("claude", "--hooks", "--status-line")

    assert without is False
    assert "hook claude StatusLine" in read(settings)["statusLine"]["command"]
    machine.uninstall("claude")
    assert machine.tree() == before


def test_a_status_line_of_the_person_stays(machine: Machine) -> None:
    settings = machine.files("claude", "user")[1]
    settings.parent.mkdir(parents=True)
    own = '{"statusLine": {"type": "command", "command": "date"}}'
    settings.write_text(own, "utf-8")

    done = machine.install("claude", "--status-line")

    assert "there is another status line, which stays" in [row["note"] for row in done.rows("files")]
    assert settings.read_text("utf-8") == own
    assert machine.place.run("--json", "install", "codex", "--status-line").error["code"] == "usage"


@pytest.mark.parametrize("name", ["My Tally", "../x", "a" * 40])
def test_a_name_that_no_harness_takes_is_refused(machine: Machine, name: str) -> None:
    assert machine.install("claude", "--name", name).error["code"] == "usage"
