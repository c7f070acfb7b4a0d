"""The real programs from npm, in a home of their own: each finds what `tally install` has written."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.install.machine import Machine
from tests.loopback.programs import installed

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]


def _list(machine: Machine, harness: str, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        [installed(harness), "mcp", "list"],
        env={**machine.place.env, **(env or {})},
        cwd=machine.place.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{done.stdout}{done.stderr}"


def _line(text: str) -> str:
    return next((line for line in text.splitlines() if "tally" in line.split() or "tally:" in line), text)


def test_claude_code_connects_to_our_server(machine: Machine) -> None:
    machine.install("claude", "--hooks")

    assert "Connected" in _line(_list(machine, "claude"))


def test_codex_lists_our_server_as_enabled(machine: Machine) -> None:
    machine.install("codex", "--hooks")

    assert "enabled" in _line(_list(machine, "codex"))


def test_gemini_cli_lists_our_server(machine: Machine) -> None:
    machine.install("gemini", "--hooks")

    found = _line(_list(machine, "gemini"))
    assert "tally mcp" in found, found


@pytest.mark.parametrize("harness", ["claude", "codex", "gemini"])
def test_after_uninstall_no_program_knows_us(machine: Machine, harness: str) -> None:
    machine.install(harness, "--hooks")
    machine.uninstall(harness)

    assert "tally mcp" not in _list(machine, harness)


def test_what_claude_code_wrote_about_itself_survives(machine: Machine, tmp_path: Path) -> None:
    _list(machine, "claude")
    settings = machine.place.home / ".claude.json"
    before = settings.read_bytes() if settings.exists() else None
    machine.install("claude")

    machine.uninstall("claude")

    assert (settings.read_bytes() if settings.exists() else None) == before
