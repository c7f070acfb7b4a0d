"""Resources: the rooms of the workspace, each one's state and its recent handoffs."""

from __future__ import annotations

import json
from typing import cast

import pytest
from mcp import MCPError
from mcp_types import TextResourceContents

from tests.surfaces.mcp.stage import HANDOFF, Agent, Stage

pytestmark = pytest.mark.anyio


async def read(agent: Agent, uri: str) -> dict[str, object]:
    (content,) = (await agent.client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "application/json"
    return cast("dict[str, object]", json.loads(content.text))


async def test_the_rooms_of_the_workspace_are_listed(served: Stage) -> None:
    async with served.agent("ada") as ada:
        empty = await ada.client.list_resources()
        await ada.join()
        listed = await ada.client.list_resources()
        rooms = await read(ada, "tally://rooms")
        tools = await ada.call("list_rooms", context_path=str(ada.workspace))

    assert [each.uri for each in empty.resources] == ["tally://rooms"]
    assert [each.uri for each in listed.resources] == [
        "tally://rooms",
        f"tally://rooms/{ada.room_id}/state",
        f"tally://rooms/{ada.room_id}/handoffs",
    ]
    assert rooms == tools


async def test_the_templates_name_what_every_room_has(served: Stage) -> None:
    async with served.agent("ada") as ada:
        templates = await ada.client.list_resource_templates()

    assert [each.uri_template for each in templates.resource_templates] == [
        "tally://rooms/{room_id}/state",
        "tally://rooms/{room_id}/handoffs",
    ]


async def test_a_rooms_state_is_what_the_tool_says(served: Stage) -> None:
    async with served.agent("ada") as ada:
        await ada.join()

        assert await read(ada, f"tally://rooms/{ada.room_id}/state") == await ada.state()


async def test_a_rooms_handoffs_are_there_word_for_word(served: Stage) -> None:
    async with served.agent("ada") as ada:
        await ada.join()
        await ada.wait()
        released = await ada.release()
        found = await read(ada, f"tally://rooms/{ada.room_id}/handoffs")

    handoffs = cast("list[dict[str, object]]", found["handoffs"])
    assert [(each["event_seq"], each["from_agent_id"], each["handoff"]) for each in handoffs] == [
        (released["event_seq"], "ada", HANDOFF)
    ]


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("tally://rooms/nowhere/state", "room_not_found"),
        ("tally://rooms/nowhere/handoffs", "room_not_found"),
        ("tally://rooms/nowhere/secrets", "resource_not_found"),
        ("tally://rooms/../state/handoffs", "resource_not_found"),
        ("file:///etc/passwd", "resource_not_found"),
    ],
)
async def test_a_resource_that_is_not_there_is_a_protocol_error_with_the_refusal_in_it(
    served: Stage, uri: str, code: str
) -> None:
    async with served.agent("ada") as ada:
        with pytest.raises(MCPError) as caught:
            await ada.client.read_resource(uri)

    assert (caught.value.error.code, caught.value.error.data["error"]) == (-32602, code)
