"""The relay as a tool, which is the way we recommend: an owner with a real MCP client drives an attached agent."""

from __future__ import annotations

from typing import cast

import pytest

from tests.http.running import Json
from tests.runtime.world import WAIT_MS, World, control, message
from tests.surfaces.mcp.stage import Stage


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_an_owner_relays_waits_and_ends_by_the_tool(world: World) -> None:
    world.attach("worker", "codex")
    stage = Stage(env=world.hub.settings, workspace=world.repo, revision="2026-07-28")
    async with stage.agent("owner") as owner:

        async def actions(op: str, **args: object) -> Json:
            result = await owner.result("actions", op=op, args={"room_id": world.room_id, **args})
            return cast("Json", result.structured_content)

        await owner.result("join_path", room_id=world.room_id)
        refused = await actions("relay", actions=[message("nobody", "count")])
        relayed = await actions("relay", actions=[control("worker", "new"), message("worker", "count")])
        found = await actions("outcomes", group_id=relayed["group_id"], max_wait_ms=WAIT_MS)
        over = await actions("relay", context_id=relayed["context_id"], done={"summary": "counted"})

    assert (refused["error"], "hint" in refused) == ("agent_not_found", True)
    outcomes = cast("list[Json]", found["actions"])
    assert [(each["status"], each["reply"]) for each in outcomes] == [("completed", None), ("completed", "count (1)")]
    assert (over["done"], world.tasks()[-1]) == (True, ("done", "counted"))
