"""What a session that a person started asks permission for: in the room too, and whoever is first decides."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from tallystick.harnesses.hook_protocol import ALLOW
from tallystick.harnesses.install.config_entries import HOOKS
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.surfaces.hook import permission
from tallystick.surfaces.hook.main import Payload
from tests.hooks.hooked import HookedWorkspace
from tests.scene import Row
from tests.waiting import eventually, until

BASH: Row = {"tool_name": "Bash", "tool_input": {"command": "make deploy", "description": "deploy"}}
PERSON = Caller(agent_id="user", session=SessionKind.HUMAN_CLI)


def policy(hooked: HookedWorkspace, room_id: str, **given: object) -> None:
    with hooked.hub() as hub:
        hub.call("permissions.set_policy", {"room_id": room_id, **given}, PERSON)


def decision(out: str) -> object:
    return cast("Row", json.loads(out)["hookSpecificOutput"])["decision"]


def asking(hooked: HookedWorkspace, harness: str = "claude", **fields: object) -> subprocess.Popen[str]:
    """The hook while it waits, as the harness runs it."""
    given = {"session_id": "s-1", "cwd": str(hooked.root), "hook_event_name": "PermissionRequest", **BASH, **fields}
    tally = str(Path(sys.executable).with_name("tally"))
    env = {**hooked.place.env, **hooked.env, "TALLYSTICK_AGENT": "me"}
    process = subprocess.Popen(
        [tally, "hook", harness, "PermissionRequest"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    process.stdin.write(json.dumps(given))
    process.stdin.close()
    process.stdin = None
    return process


def waiting(hooked: HookedWorkspace, room_id: str) -> Row:
    def look() -> Row | None:
        found = cast("list[Row]", hooked.call("me", "permissions.list", room_id=room_id)["permissions"])
        return found[0] if found else None

    return eventually(look)


def test_what_the_room_allows_unasked_is_allowed_at_once(hooked: HookedWorkspace) -> None:
    policy(hooked, hooked.join("me"), allow_commands=["make deploy"])

    for harness in ("claude", "codex"):
        assert decision(hooked.hook(harness, "PermissionRequest", **BASH).out) == {"behavior": "allow"}


def test_what_somebody_reserved_is_denied_with_the_reason(hooked: HookedWorkspace) -> None:
    hooked.join("me")
    hooked.reserve("ann", "src")

    done = hooked.hook("claude", "PermissionRequest", tool_name="Edit", tool_input={"file_path": "src/a.py"})

    assert decision(done.out) == {"behavior": "deny", "message": "Reserved by somebody else: src by ann."}


def test_a_person_elsewhere_decides(hooked: HookedWorkspace) -> None:
    room_id = hooked.join("me")
    process = asking(hooked)
    request = waiting(hooked, room_id)
    with hooked.hub() as hub:
        given = {"room_id": room_id, "permission": request["permission"], "decision": "deny", "message": "on staging"}
        hub.call("permissions.answer", given, PERSON)

    out, _ = process.communicate(timeout=60)

    assert (request["command"], request["title"]) == ("make deploy", "deploy")
    assert decision(out) == {"behavior": "deny", "message": 'user denied it: "on staging"'}


def test_what_was_answered_at_the_terminal_is_withdrawn_once_the_tool_has_run(hooked: HookedWorkspace) -> None:
    room_id = hooked.join("me")
    process = asking(hooked)
    request = waiting(hooked, room_id)

    hooked.hook("claude", "PostToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert process.poll() is None
    hooked.hook("claude", "PostToolUse", **BASH)
    out, _ = process.communicate(timeout=60)

    shown = hooked.call("me", "permissions.show", room_id=room_id, permission=request["permission"])
    assert (out, shown["state"], shown["message"]) == ("", "withdrawn", "it was answered at the terminal")


def test_codex_asks_at_its_terminal_once_nobody_has_answered(
    hooked: HookedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert permission.CODEX_LOOKS * permission.LOOK_MS == 20_000
    assert max(entry.seconds for entry in HOOKS["codex"] if entry.event == "PermissionRequest") > 20
    for name, value in {**hooked.place.env, **hooked.env, "TALLYSTICK_AGENT": "me"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(permission, "LOOK_MS", 1)
    room_id = hooked.join("me")
    fields: Row = {"session_id": "s-1", "cwd": str(hooked.root), **BASH}

    reply = permission.at_permission(Payload("codex", "PermissionRequest", fields), [])

    shown = hooked.call("me", "permissions.list", room_id=room_id, settled=True)
    (request,) = cast("list[Row]", shown["permissions"])
    assert (reply, request["state"], request["message"]) == (ALLOW, "withdrawn", "it is asked at the terminal now")


def test_the_end_of_a_session_withdraws_what_it_had_asked(hooked: HookedWorkspace) -> None:
    room_id = hooked.join("me")
    process = asking(hooked)
    request = waiting(hooked, room_id)

    hooked.hook("claude", "SessionEnd", reason="other")
    process.communicate(timeout=60)

    until(
        lambda: (
            hooked.call("me", "permissions.show", room_id=room_id, permission=request["permission"])["state"]
            == "withdrawn"
        )
    )


def test_outside_of_any_room_the_dialog_decides(hooked: HookedWorkspace) -> None:
    assert hooked.hook("claude", "PermissionRequest", **BASH).out == ""
