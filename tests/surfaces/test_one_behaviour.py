"""One behaviour, whichever way it is reached: the same play gives the same JSON on every surface and both engines."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

import pytest

from tests.places import Place
from tests.scene import HANDOFF
from tests.surfaces import ways
from tests.surfaces.mcp.stage import Stage
from tests.surfaces.ways import Row, Way

WAYS: list[Callable[[Stage], AbstractContextManager[Way]]] = [
    ways.command_line,
    ways.mcp,
    ways.mcp_through_a_hub,
    ways.mcp_over_http,
    ways.plain_http,
    ways.python,
    ways.bus,
]
OWN = re.compile(
    r".*_at|ts|id|(room|group|lease|event)_id|scope_key|pid|session_kind|(canonical|requested)_path|workspace_root|example|hint"
)
"""What is another in every store, tells of the process that called, or speaks the words of one surface."""


def play(call: Way, workspace: Path) -> list[Row]:
    """Two agents meet, hand the stick over, talk, and are refused something of each family."""
    transcript: list[Row] = []

    def say(agent: str, operation: str, **given: object) -> Row:
        answer = call(agent, operation, given)
        transcript.append(plain({operation: answer}))
        return answer

    room_id = say("ada", "rooms.join", context_path=str(workspace))["room_id"]
    say("bob", "rooms.join", context_path=str(workspace))
    turn = say("ada", "turns.wait", room_id=room_id, max_wait_ms=0)
    say("bob", "turns.wait", room_id=room_id, max_wait_ms=0)
    held = {"room_id": room_id, "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
    say("ada", "turns.release", **held, handoff=HANDOFF)
    say("ada", "turns.release", **held, handoff=HANDOFF)
    say("bob", "turns.wait", room_id=room_id, max_wait_ms=0)
    sent = say("bob", "messages.send", room_id=room_id, text="look at this", to=["ada"], priority="attention")
    event_id = sent["event"]["id"]
    say("ada", "messages.inbox", room_id=room_id)
    say("ada", "messages.read", room_id=room_id, event_id=event_id)
    say("ada", "messages.ack", room_id=room_id, event_id=event_id)
    say("bob", "messages.ack", room_id=room_id, event_id=event_id)
    say("ada", "turns.state", room_id="nowhere")
    say("ada", "messages.send", room_id=room_id, txt="a slip")
    say("ada", "turns.state", room_id=room_id)
    return transcript


def plain(value: object) -> Any:
    """The value without what no two stores share."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {name: plain(each) for name, each in fields.items() if not OWN.fullmatch(name)}
    return [plain(each) for each in cast("list[object]", value)] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("place", "way"),
    [
        *(pytest.param("sqlite", way, id=way.__name__) for way in WAYS),
        pytest.param("postgres", ways.plain_http, id="plain_http on postgres", marks=pytest.mark.postgres),
    ],
    indirect=["place"],
)
def test_every_surface_gives_the_same_answers_and_refusals(
    way: Callable[[Stage], AbstractContextManager[Way]], place: Place, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "AGENTS.md").touch()
    url = {"TALLYSTICK_DATABASE_URL": place.database_url} if place.database_url else {}
    model = Stage(env={"TALLYSTICK_DATA_DIR": str(tmp_path / "model")}, workspace=workspace, revision="2025-11-25")
    stage = Stage(env={"TALLYSTICK_DATA_DIR": str(place.data_dir), **url}, workspace=workspace, revision="2025-11-25")
    with ways.directly(model) as call:
        expected = play(call, workspace)

    with way(stage) as call:
        assert play(call, workspace) == expected
    refusals = [answer["error"] for step in expected for answer in step.values() if "error" in answer]
    assert refusals == ["stale_lease", "own_message", "room_not_found", "unknown_field"]
