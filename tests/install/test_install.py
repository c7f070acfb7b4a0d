"""`tally install` and `tally uninstall`: what is written, what stays, and that it can be taken back."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import cast

import pytest

from tallystick.harnesses.install import config_entries
from tallystick.harnesses.install.config_entries import HOOKS
from tests.install.machine import FILES, HARNESSES, TALLY, Machine

SCOPES = ("user", "project")
every_harness = pytest.mark.parametrize("harness", HARNESSES)
every_scope = pytest.mark.parametrize("scope", SCOPES)

ODD_JSON = """\
// written by hand
{
    "theme" :"dark",   /* keep me */
    "mcpServers": {"mine": {"command": "node", "args": []}},
    "hooks": { "Stop": [ {"hooks": [{"type": "command", "command": "say done"}]} ], },
}
"""
ODD_TOML = (
    '# mine\nmodel = "x"   # keep\n\n[mcp_servers."other one"]\ncommand = "node"\r\n[profiles.a]\n  b = [ "[x]", ]'
)


def _config(path: Path) -> dict[str, object]:
    text = path.read_text("utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


@every_harness
@every_scope
def test_an_empty_machine_gets_the_files_that_the_harness_reads(machine: Machine, harness: str, scope: str) -> None:
    done = machine.install(harness, f"--{scope}", "--hooks")

    paths = machine.files(harness, scope)
    assert done.rows("files") == [
        {"path": str(path), "action": "created", "what": what, "note": None}
        for path, what in zip(paths, _what(len(paths)), strict=True)
    ]
    command = TALLY if scope == "user" else "tally"
    servers = cast(
        "dict[str, dict[str, object]]", _config(paths[0])["mcp_servers" if harness == "codex" else "mcpServers"]
    )
    entry = servers["tally"]
    program = [entry["command"], *cast("list[str]", entry["args"])]
    # Codex waits for us, so a shell answers where we cannot.
    assert program == (["sh", "-c", config_entries.FALLBACK] if harness == "codex" else []) + [command, "mcp"]
    assert entry.get("required") is (True if harness == "codex" else None)


def _what(count: int) -> list[list[str]]:
    return [["MCP server", "hooks"], ["skill"]] if count == 2 else [["MCP server"], ["hooks"], ["skill"]]


@every_harness
@every_scope
def test_a_second_run_changes_nothing(machine: Machine, harness: str, scope: str) -> None:
    machine.install(harness, f"--{scope}", "--hooks")
    before = machine.tree()

    again = machine.install(harness, f"--{scope}", "--hooks")

    assert {row["action"] for row in again.rows("files")} == {"unchanged"}
    assert machine.tree() == before


@every_harness
@every_scope
def test_uninstall_leaves_a_machine_that_had_nothing_with_nothing(machine: Machine, harness: str, scope: str) -> None:
    before = machine.tree()
    machine.install(harness, f"--{scope}", "--hooks")

    machine.uninstall(harness, f"--{scope}")

    assert machine.tree() == before
    assert not (machine.place.data_dir / "installed.json").exists()


def _written_by_hand(machine: Machine, harness: str, scope: str) -> None:
    for path in machine.files(harness, scope)[:-1]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ODD_TOML if path.suffix == ".toml" else ODD_JSON).encode())


@every_harness
@every_scope
def test_what_was_there_comes_back_byte_for_byte(machine: Machine, harness: str, scope: str) -> None:
    _written_by_hand(machine, harness, scope)
    before = machine.tree()

    machine.install(harness, f"--{scope}", "--hooks")
    between = machine.tree()
    machine.uninstall(harness, f"--{scope}")

    assert between != before
    assert machine.tree() == before


@every_harness
def test_every_byte_that_was_there_is_still_there_and_in_order(machine: Machine, harness: str) -> None:
    _written_by_hand(machine, harness, "user")
    before = {path: path.read_text("utf-8") for path in machine.files(harness, "user")[:-1]}

    machine.install(harness, "--hooks")

    for path, text in before.items():
        rest = iter(path.read_text("utf-8"))
        assert all(letter in rest for letter in text), path


@every_harness
def test_print_shows_a_diff_and_writes_nothing(machine: Machine, harness: str) -> None:
    _written_by_hand(machine, harness, "user")
    before = machine.tree()

    shown = machine.place.run("install", harness, "--hooks", "--print")

    first = machine.files(harness, "user")[0]
    assert (shown.code, shown.err) == (0, "")
    assert f"--- {first}\n+++ {first}\n" in shown.out
    assert all(line[:1] in {"+", "-", " ", "@", ""} for line in shown.out.splitlines())
    assert machine.tree() == before
    assert not machine.place.data_dir.exists()


@every_harness
def test_without_hooks_no_hook_is_written(machine: Machine, harness: str) -> None:
    machine.install(harness)

    assert f"hook {harness}".encode() not in b"".join(
        path.read_bytes() for path in machine.files(harness, "user") if path.exists()
    )


def test_what_others_changed_since_then_stays(machine: Machine) -> None:
    settings, config = machine.place.home / ".gemini/settings.json", machine.place.home / ".codex/config.toml"
    _written_by_hand(machine, "gemini", "user")
    machine.install("gemini", "--hooks")
    machine.install("codex")
    settings.write_text(settings.read_text("utf-8").replace('"dark"', '"light"'), "utf-8")
    config.write_text(f"{config.read_text('utf-8')}\n[later]\na = 1\n", "utf-8")

    machine.uninstall("gemini")
    machine.uninstall("codex")

    assert settings.read_text("utf-8") == ODD_JSON.replace('"dark"', '"light"')
    assert config.read_text("utf-8") == "\n[later]\na = 1\n"


@every_harness
def test_a_file_that_the_harness_wrote_anew_loses_only_our_part(machine: Machine, harness: str) -> None:
    machine.install(harness, "--hooks")
    for path in machine.files(harness, "user")[:-1]:
        if path.suffix == ".json":
            path.write_text(json.dumps({"own": 1, **_config(path)}), "utf-8")
        else:
            path.write_text('[mcp_servers]\ntally.command = "tally"\ntally.args = ["mcp"]\n', "utf-8")

    done = machine.uninstall(harness)

    if harness == "codex":
        assert str(done.error["message"]).endswith("cannot be taken out by itself; take it out by hand.")
        return
    left = {path.name: _config(path) for path in machine.files(harness, "user")[:-1]}
    assert all(each["own"] == 1 and "tally" not in json.dumps(each) for each in left.values())


@every_harness
def test_an_outdated_path_is_replaced_and_doubles_are_made_one(machine: Machine, harness: str) -> None:
    machine.install(harness, "--hooks")
    fresh = machine.tree()
    for path in machine.files(harness, "user")[:-1]:
        path.write_text(path.read_text("utf-8").replace(TALLY, "/old/place/tally"), "utf-8")
    hooks = machine.files(harness, "user")[-2]
    doubled = _config(hooks)
    events = cast("dict[str, list[object]]", doubled["hooks"])
    for each in events.values():
        each.extend(list(each))
    hooks.write_text(json.dumps(doubled, indent=2) + "\n", "utf-8")

    machine.install(harness, "--hooks")

    found = {name: json.loads(text) for name, text in machine.tree().items() if text and name.endswith(".json")}
    assert found == {name: json.loads(text) for name, text in fresh.items() if text and name.endswith(".json")}
    assert b"/old/place" not in b"".join(text or b"" for text in machine.tree().values())


def test_an_entry_that_somebody_made_by_hand_and_works_is_left_to_them(machine: Machine) -> None:
    settings = machine.place.home / ".gemini/settings.json"
    settings.parent.mkdir()
    own = json.dumps({"mcpServers": {"tally": {"command": TALLY, "args": ["mcp"], "timeout": 9}}})
    settings.write_text(own, "utf-8")

    (row, _) = machine.install("gemini").rows("files")
    (left, _) = machine.uninstall("gemini").rows("files")

    assert (row["action"], row["note"]) == ("kept", "the server 'tally' was there already and works")
    assert (left["action"], settings.read_text("utf-8")) == ("kept", own)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"mcpServers": {"tally": {"command": "something-else"}}}', "config_taken"),
        ('{"mcpServers": ["not", "an", "object"]}', "config_unreadable"),
        ('{"mcpServers": {', "config_unreadable"),
        ("not json", "config_unreadable"),
        ('{"a": 1} trailing', "config_unreadable"),
        ("[" * 100_000, "config_unreadable"),
        ("\udcff", "config_unreadable"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_left_alone(machine: Machine, text: str, code: str) -> None:
    settings = machine.place.home / ".gemini/settings.json"
    settings.parent.mkdir()
    settings.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = machine.tree()

    done = machine.install("gemini", "--hooks")

    assert (done.code, done.error["code"]) == (1, code)
    assert str(settings) in str(done.error["message"])
    assert machine.tree() == before


@pytest.mark.parametrize("text", ["mcp_servers = { mine = { command = 'x' } }\n", "= broken"])
def test_toml_that_cannot_take_a_table_is_left_alone(machine: Machine, text: str) -> None:
    config = machine.place.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text(text, "utf-8")

    done = machine.install("codex", "--hooks")

    assert (done.code, done.error["code"], config.read_text("utf-8")) == (1, "config_unreadable", text)


def test_a_link_stays_a_link_and_a_mode_stays_a_mode(machine: Machine) -> None:
    real = machine.place.root / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}\n", "utf-8")
    real.chmod(0o600)
    link = machine.place.home / ".claude.json"
    link.symlink_to(real)

    machine.install("claude")
    mode = real.stat().st_mode & 0o777
    machine.uninstall("claude")

    assert (link.is_symlink(), mode, real.read_text("utf-8")) == (True, 0o600, "{}\n")


def test_a_skill_that_was_changed_by_hand_is_kept(machine: Machine) -> None:
    machine.install("claude")
    skill = machine.files("claude", "user")[-1]
    skill.write_text("my own words", "utf-8")

    again, gone = machine.install("claude"), machine.uninstall("claude")

    assert [done.rows("files")[-1]["action"] for done in (again, gone)] == ["kept", "kept"]
    assert skill.read_text("utf-8") == "my own words"


@every_harness
def test_a_chosen_data_directory_goes_into_server_and_hooks(machine: Machine, harness: str) -> None:
    chosen = machine.place.root / "other data"

    machine.place.run("install", harness, "--hooks", "--data-dir", str(chosen))

    text = "".join(path.read_text("utf-8") for path in machine.files(harness, "user")[:-1])
    assert text.count(str(chosen)) == 1 + len(HOOKS[harness])
    assert (chosen / "installed.json").stat().st_mode & 0o777 == 0o600


def test_moved_homes_are_found(machine: Machine) -> None:
    moved = {"CLAUDE_CONFIG_DIR": "claude", "CODEX_HOME": "codex", "GEMINI_CLI_HOME": "gemini"}
    env = {name: str(machine.place.root / folder) for name, folder in moved.items()}

    for harness in HARNESSES:
        machine.place.run("install", harness, env=env)

    found = sorted(name for name, text in machine.tree().items() if text and not name.startswith("workspace"))
    assert found == [
        "claude/.claude.json",
        "claude/skills/tallystick/SKILL.md",
        "codex/config.toml",
        "codex/skills/tallystick/SKILL.md",
        "gemini/.gemini/settings.json",
        "gemini/.gemini/skills/tallystick/SKILL.md",
    ]


@pytest.mark.parametrize("args", [["emacs"], ["claude", "--user", "--project"], [], ["claude", "--forever"]])
def test_a_wrong_call_is_refused_and_nothing_happens(machine: Machine, args: list[str]) -> None:
    done = machine.place.run("--json", "install", *args)

    assert (done.code, done.error["code"]) == (2, "usage")
    assert machine.place.files() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_may_not_be_written_is_named(machine: Machine) -> None:
    machine.place.home.chmod(0o500)

    done = machine.install("claude")

    machine.place.home.chmod(0o700)
    assert (done.code, done.error["code"]) == (1, "config_unwritable")


def test_project_files_belong_to_the_root_of_the_repository(machine: Machine) -> None:
    inner = machine.place.workspace / "a" / "b"
    inner.mkdir(parents=True)

    machine.place.run("install", "claude", "--project", cwd=inner)

    assert all(path.exists() for path in (machine.place.workspace / name for name in FILES["claude", "project"][::2]))


def _hook_commands(path: Path, harness: str) -> list[str]:
    events = cast("dict[str, list[dict[str, list[dict[str, str]]]]]", _config(path)["hooks"])
    every = [hook["command"] for groups in events.values() for group in groups for hook in group["hooks"]]
    return [command for command in every if f"hook {harness} " in command]


@every_harness
def test_a_hook_lets_everything_pass_where_tally_is_not_installed(
    machine: Machine, harness: str, tmp_path: Path
) -> None:
    machine.install(harness, "--project", "--hooks")
    commands = _hook_commands(machine.files(harness, "project")[-2], harness)
    bare = {"PATH": "/usr/bin:/bin"}
    there = tmp_path / "bin"
    there.mkdir()
    (there / "tally").write_text('#!/bin/sh\necho "$@"\nexit 2\n')
    (there / "tally").chmod(0o755)

    without = [_shell(command, bare) for command in commands]
    using = [_shell(command, {"PATH": f"{there}:/usr/bin:/bin"}) for command in commands]

    assert without == [(0, "", "")] * len(HOOKS[harness])
    assert [(code, out.split()[:2]) for code, out, _err in using] == [(2, ["hook", harness])] * len(HOOKS[harness])


def _shell(command: str, env: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(["sh", "-c", command], env=env, input="{}", capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr
