"""Prompts, which harnesses offer as slash commands, and all the words that teach a model: each names real calls."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import pytest

from tallystick.harnesses.install import plan
from tallystick.hub.registry import OPERATIONS
from tallystick.surfaces.mcp import server
from tallystick.surfaces.mcp.server import INSTRUCTIONS
from tallystick.surfaces.mcp.tools import NINE, PORTALS, ToolSet
from tests.surfaces.mcp.stage import Stage
from tests.surfaces.mcp.wire import wired

DESCRIPTIONS = "\n".join(str(tool.description) for tool in ToolSet.DAILY.listed())
TEXTS: dict[str, str] = {
    "instructions": INSTRUCTIONS,
    "skill": plan.skill_text(),
    "descriptions": DESCRIPTIONS,
    **{
        name: json.loads(server.spoken_prompt(name, {}).messages[0].model_dump_json())["content"]["text"]
        for name in server.PROMPTS
    },
}
CALL = re.compile(r'(\w+)\s*\{"op": "(\w+)"(?:, "cmd": "([\w.]+)")?')
TAUGHT = {"join_path", "wait_for_turn", "heartbeat", "release_stick"}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_call_in_a_text_for_models_is_one_that_a_model_can_make(text: str) -> None:
    for portal, op, cmd in CALL.findall(text):
        assert PORTALS[portal].read({"op": op, **({"cmd": cmd} if cmd else {})})
    named = {name for name in re.findall(r"\b[a-z]+\.[a-z_]+\b", text) if name.partition(".")[0] in {"rooms", "turns"}}
    assert named == set(), "an operation that is a tool is called by the tool's name"
    behind = {name for portal in PORTALS.values() for name in portal.commands}
    assert {name for name in re.findall(r"\b[a-z]+\.[a-z]+\b", text) if name in OPERATIONS} <= behind


@pytest.mark.parametrize("text", ["instructions", "skill"])
def test_what_is_taught_is_turns_reservations_mail_and_notes(text: str) -> None:
    taught = TEXTS[text]

    assert all(tool in taught for tool in TAUGHT)
    assert "parallel" in taught, "where agents work side by side nobody waits"
    called = {cmd or f"{portal}.{op}" for portal, op, cmd in CALL.findall(taught)}
    assert {"reservations.reserve", "messages.inbox", "notes.add"} <= called
    assert NINE.keys() >= TAUGHT


def test_a_client_lists_the_prompts_and_gets_them_as_a_persons_message(stage: Stage) -> None:
    with wired(stage, "ada") as wire:
        wire.request("prompts/list")
        found = cast("dict[str, Any]", wire.read()["result"])["prompts"]
        wire.request("prompts/get", name="hand_over", arguments={"to": "bob"})
        passed = cast("dict[str, Any]", wire.read()["result"])
        wire.request("prompts/get", name="hand_over")
        released = cast("dict[str, Any]", wire.read()["result"])
        wire.request("prompts/get", name="handover")
        refused = cast("dict[str, Any]", wire.read()["error"])

    assert [each["name"] for each in found] == ["join", "hand_over", "inbox"]
    assert passed["messages"][0]["role"] == "user"
    assert "Hand over to bob with pass_stick." in passed["messages"][0]["content"]["text"]
    assert "the next in sequence with release_stick" in json.dumps(released)
    assert "Did you mean 'hand_over'?" in refused["message"]
