"""Unread mail shows with the answers to other calls, and not where the mail itself is shown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, cast

from tallystick.hub.engine import CallRequest
from tallystick.hub.visitor import Visitor
from tallystick.kernel import hints
from tallystick.kernel.hints import said
from tests.messages.talk import ask_attention
from tests.scene import Actor, Scene
from tests.surfaces import ways
from tests.surfaces.hubs import TALLY
from tests.surfaces.mcp.stage import Stage, bare_environment
from tests.surfaces.mcp.wire import wired

SIGN = "1 unread message, 1 needs your ack: <<messages.inbox>>"


def signs(actor: Actor, operation: str, **given: object) -> list[str]:
    visitor = Visitor(caller=actor.caller, trusted=True)
    request = CallRequest(visitor=visitor, operation=operation, given=given, with_notices=True)
    return list(actor.scene.hub.respond(request).notices)


def test_unread_mail_shows_after_calls_about_the_room_and_after_joining(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ask_attention(bob)

    assert signs(ada, "turns.state", room_id=ada.room_id) == [SIGN]
    assert signs(ada, "notes.add", room_id=ada.room_id, body="a note") == [SIGN]
    assert signs(ada, "rooms.join", context_path=str(scene.workspace)) == [SIGN]


def test_nothing_shows_for_others_elsewhere_or_beside_the_mail_itself(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ask_attention(bob)

    assert signs(bob, "turns.state", room_id=bob.room_id) == []
    assert signs(ada, "hub.health") == []
    assert signs(ada, "messages.inbox", room_id=ada.room_id) == []


def test_each_surface_shows_it_in_its_own_place(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "AGENTS.md").touch()
    stage = Stage(env={"TALLYSTICK_DATA_DIR": str(tmp_path / "data")}, workspace=workspace, revision="2026-07-28")
    with ways.directly(stage) as call:
        room_id = call("ada", "rooms.join", {"context_path": str(workspace)})["room_id"]
        call("bob", "rooms.join", {"room_id": room_id})
        call("bob", "messages.send", {"room_id": room_id, "text": "look", "priority": "attention"})
    given = {"room_id": room_id}

    with ways.http(stage) as posting:
        assert posting("ada", "/v1/turns.state", given).headers["tally-notice"] == said(SIGN, hints.request, given)
        assert "tally-notice" not in posting("ada", "/v1/messages.inbox", given).headers
    with wired(stage, "ada") as wire:
        wire.request("tools/call", name="get_room_state", arguments=given)
        result = cast("dict[str, Any]", wire.read())["result"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["structuredContent"]["notices"] == [said(SIGN, hints.tool_call, given)]
    assert (len(result["content"]), result["structuredContent"]["room_id"]) == (1, room_id)
    assert result["_meta"]["tallystick/notices"] == [said(SIGN, hints.tool_call, given)]
    done = subprocess.run(
        [TALLY, "--json", "--as", "ada", "call", "turns.state", "--input", json.dumps(given)],
        env={**bare_environment(), **stage.env},
        cwd=workspace,
        capture_output=True,
        check=True,
    )
    assert done.stderr.decode() == "notice: 1 unread message, 1 needs your ack: `tally --as ada inbox`\n"
