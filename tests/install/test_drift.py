"""`tally doctor` says what has become of an installation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick.harnesses.install.plan import UNTRUSTED
from tallystick.hub import tokens
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tests.install.machine import HARNESSES, TALLY, Machine

every_harness = pytest.mark.parametrize("harness", HARNESSES)


def _check(machine: Machine, harness: str) -> tuple[str, str]:
    rows = machine.place.as_("ann", "doctor").rows("checks")
    (found,) = [row for row in rows if row["name"] == f"harness {harness}"]
    return str(found["verdict"]), str(found["found"])


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


@every_harness
def test_a_fresh_installation_is_well(machine: Machine, harness: str) -> None:
    machine.install(harness, "--hooks")

    untrusted = f", {UNTRUSTED}" if harness == "codex" else ""
    assert _check(machine, harness) == ("ok", f"server (user), hooks (user){untrusted}")


def test_hooks_that_somebody_has_looked_at_are_trusted(machine: Machine) -> None:
    machine.install("codex", "--hooks")
    config, hooks = machine.files("codex", "user")[:2]
    trusted = f'[hooks.state."{hooks}:pre_tool_use:0:0"]\ntrusted_hash = "sha256:0"\n'
    config.write_text(f"{config.read_text('utf-8')}\n{trusted}", "utf-8")

    assert _check(machine, "codex") == ("ok", "server (user), hooks (user)")


@every_harness
def test_what_is_missing_is_named(machine: Machine, harness: str) -> None:
    machine.install(harness, "--hooks")
    for path in machine.files(harness, "user"):
        path.unlink()

    verdict, found = _check(machine, harness)

    assert verdict == "warn"
    assert found.count("missing: ") == 3
    assert all(str(path) in found for path in machine.files(harness, "user"))


@every_harness
def test_a_path_that_leads_nowhere_is_named_and_mended_by_installing_again(machine: Machine, harness: str) -> None:
    machine.install(harness, "--hooks")
    for path in machine.files(harness, "user")[:-1]:
        _replace(path, TALLY, "/old/place/tally")

    before = _check(machine, harness)
    machine.install(harness, "--hooks")

    assert before == ("warn", "user: stale path: there is no program /old/place/tally")
    assert _check(machine, harness)[0] == "ok"


def test_doubles_are_named(machine: Machine) -> None:
    machine.install("claude", "--hooks")
    servers, hooks = machine.files("claude", "user")[:2]
    whole = json.loads(servers.read_text("utf-8"))
    whole["mcpServers"]["again"] = whole["mcpServers"]["tally"]
    servers.write_text(json.dumps(whole), "utf-8")
    settings = json.loads(hooks.read_text("utf-8"))
    settings["hooks"]["Stop"] *= 2
    hooks.write_text(json.dumps(settings), "utf-8")

    assert _check(machine, "claude") == (
        "warn",
        "user: duplicated: the servers again, tally are all ours; user: duplicated: the hook Stop runs more than once",
    )


def test_hooks_in_both_scopes_are_doubles_too(machine: Machine) -> None:
    machine.install("claude", "--hooks")
    machine.install("claude", "--hooks", "--project")

    verdict, found = _check(machine, "claude")

    assert (verdict, "duplicated: the hooks of user and project both run" in found) == ("warn", True)


@pytest.mark.parametrize("case", ["valid", "revoked", "unknown", "none"])
def test_a_token_is_looked_at(machine: Machine, case: str) -> None:
    hub = Hub.open(Settings(data_dir=machine.place.data_dir))
    issued = tokens.issue(hub, principal="ann")
    if case == "revoked":
        tokens.revoke(hub, issued.token.id)
    hub.close()
    secret = {"unknown": "tally_nobody_knows_it"}.get(case, issued.secret)
    headers = {} if case == "none" else {"headers": {"Authorization": f"Bearer {secret}"}}
    entry = {"type": "http", "url": "http://127.0.0.1:7433/mcp", **headers}
    (machine.place.home / ".claude.json").write_text(json.dumps({"mcpServers": {"tally": entry}}), "utf-8")

    verdict, found = _check(machine, "claude")

    assert verdict == ("ok" if case == "valid" else "warn")
    assert ("wrong token" in found) == (case != "valid")
    assert secret not in found


def test_a_file_that_cannot_be_read_is_named(machine: Machine) -> None:
    machine.install("gemini")
    (machine.place.home / ".gemini/settings.json").write_text("{", "utf-8")

    assert _check(machine, "gemini") == ("warn", "Line 1 is not valid JSON.")
