"""The skill that `tally install` writes: its flow is the protocol's, and everything it names is there."""

from __future__ import annotations

import re

from tallystick.harnesses.install import plan
from tallystick.hub.registry import OPERATIONS
from tallystick.surfaces.cli import commands
from tallystick.surfaces.mcp.tools import NINE

STEPS = [
    "Arrive",
    "Read what waits",
    "Wait for your turn",
    "Reserve before you edit",
    "Stay visible",
    "When you are stuck",
    "Hand over",
]


def test_the_flow_has_the_steps_of_the_protocol_in_their_order() -> None:
    assert re.findall(r"^\d\. \*\*(.+?)[.,]\*\*", plan.skill_text(), re.MULTILINE) == STEPS


def test_everything_that_the_skill_names_exists() -> None:
    text = plan.skill_text()
    named = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", text)) | set(re.findall(r'"cmd": "([a-z_.]+)"', text))
    tools = {"join_path", "wait_for_turn", "heartbeat", "release_stick", "pass_stick"}

    assert named - OPERATIONS.keys() == set()
    assert tools - set(NINE) == set()
    assert all(f"`{tool}`" in text for tool in tools)
    assert set(re.findall(r"`tally ([a-z]+)", text)) - commands.COMMANDS.keys() == set()


def test_the_skill_is_short_and_says_when_to_use_it() -> None:
    head, front, body = plan.skill_text().split("---\n", 2)

    assert (head, front.startswith("name: tallystick\ndescription: ")) == ("", True)
    assert len(body.split()) < 500
