"""Adoption by token: nobody becomes the user, and nobody makes the ground on which it goes on as another."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.kernel.operation import Reach
from tests.http.running import Json, RunningHub


@pytest.mark.parametrize(
    ("who", "status", "code"), [("user", 403, "not_adoptable"), ("carl", 403, "adoption_not_allowed")]
)
def test_a_token_makes_nobody_somebody_else(hub: RunningHub, who: str, status: int, code: str) -> None:
    room = hub.user.room()
    hub.user.call("rooms.join", room_id=room)
    carl, eve = hub.agent("carl", room), hub.agent("eve", room)
    for agent in (carl, eve):
        agent.call("rooms.join", room_id=room)
    eve.call("tasks.create", room_id=room, title="x", assignee="carl", status="running")

    refused = eve.post("agents.adopt", {"room_id": room, "agent_id": who, "confirm": True})

    assert refused.refused == (403, code)
    eve.call("messages.send", room_id=room, text="This is your user speaking.", to=["@all"])
    found = cast("list[Json]", hub.user.call("events.list", room_id=room, kinds=["chat.message"])["events"])
    assert [said["by"] for said in found] == ["eve"]


@pytest.mark.parametrize(("reach", "code"), [(Reach.WORK, "reach_too_short"), (Reach.MANAGE, "person_needed")])
def test_only_the_user_lets_somebody_adopt(hub: RunningHub, reach: Reach, code: str) -> None:
    room = hub.user.room()
    carl, eve = hub.agent("carl", room), hub.agent("eve", room, reach)
    for agent in (carl, eve):
        agent.call("rooms.join", room_id=room)
    given = {"room_id": room, "agent_id": "carl", "session_id": "eve"}

    refused = eve.post("agents.allow_adoption", given)

    assert refused.refused == (403, code)
    assert hub.user.call("agents.allow_adoption", **given)["session_id"] == "eve"
