"""A rename reaches whoever looks, wherever it was made: the page, the bus, the stream of events and MCP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from tallystick import BusClient
from tests.http.running import Json, RunningHub
from tests.http.test_mcp import call as call_tool
from tests.http.test_mcp import connected
from tests.web.conftest import Look
from tests.web.test_live import LOADS

pytestmark = pytest.mark.browser


def over_the_bus(hub: RunningHub, room: str) -> None:
    with BusClient(agent="worker", data_dir=hub.data_dir) as worker:
        worker.ask("agent.update", {"id": "worker", "name": "Willy"}, session=room)


def by_an_operation(hub: RunningHub, room: str) -> None:
    hub.user.call("agents.update", room_id=room, agent_id="worker", name="Willy")


def follow_over_mcp(hub: RunningHub, room: str, head: object) -> list[Json]:
    """The renames after a place, by the tool that waits for events."""

    async def follow() -> list[Json]:
        given = {"room_id": room, "since_seq": head, "kinds": ["actor.update"], "max_wait_ms": 60_000}
        async with connected(hub.user, "2026-07-28") as mcp:
            _, got = await call_tool(mcp, "rooms", op="call", cmd="events.follow", args=given)
        result = cast("Json", got.get("result", got))
        return cast("list[Json]", result["events"])

    return asyncio.run(follow())


@pytest.mark.parametrize("rename", [over_the_bus, by_an_operation])
def test_a_rename_reaches_the_page_the_bus_the_stream_and_mcp_at_once(
    hub: RunningHub, look: Look, room: str, rename: Callable[[RunningHub, str], None]
) -> None:
    viewer = look()
    with (
        BusClient(agent="worker", data_dir=hub.data_dir) as worker,
        BusClient(agent="boss", data_dir=hub.data_dir) as boss,
        ThreadPoolExecutor(1) as aside,
    ):
        worker.join(room)
        head = boss.ask("events.stream", {"types": ["agent.updated"]}, session=room)["cursor"]
        stream = hub.user.stream(room, f"&since_seq={head}&kinds=actor.update")
        over_mcp = aside.submit(follow_over_mcp, hub, room, head)
        viewer.go(f"/rooms/{room}")
        viewer.shows("body", "worker")
        loaded = viewer.page.evaluate(LOADS)

        rename(hub, room)

        viewer.shows("body", "Willy")
        assert viewer.page.evaluate(LOADS) == loaded
        record = cast("Json", cast("Json", next(boss.deliveries())["payload"])["envelope"])
        (frame,) = stream.take(1)
        (event,) = over_mcp.result()
    renamed = {"actor_id": "worker", "name": "Willy", "role": "peer"}
    assert (record["type"], record["payload"]) == (
        "agent.updated",
        {"id": "worker", "name": "Willy", "role": "peer"},
    )
    assert (frame.event, frame.json["data"], event["data"]) == ("actor.update", renamed, renamed)
    assert record["seq"] == frame.json["seq"] == event["seq"]
