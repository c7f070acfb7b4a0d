"""MCP goes through the hub's one engine: its clients hold no thread, stop nobody when they die, and are seen."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tallystick.storage.port import open_store
from tests.http.running import Client, RunningHub
from tests.surfaces.mcp.stage import Stage
from tests.surfaces.mcp.wire import wired
from tests.waiting import until

LONG = 100_000
MANY = 100
"""More than any pool of threads would hold."""


@pytest.fixture
def hub(tmp_path: Path) -> Generator[RunningHub]:
    hub = RunningHub(tmp_path / "data", environ={"TALLYSTICK_HTTP_RATE": "0"}).start()
    yield hub
    hub.stop()


@pytest.fixture
def stage(hub: RunningHub, tmp_path: Path) -> Stage:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return Stage(env={"TALLYSTICK_DATA_DIR": str(hub.data_dir)}, workspace=workspace, revision="2025-11-25")


@contextmanager
def writes_held_up(hub: RunningHub) -> Generator[None]:
    """Another process has the store's write lock."""
    store = open_store(None, hub.data_dir)
    with store.write():
        yield
    store.close()


def waits(hub: RunningHub) -> object:
    return hub.user.get("/v1/status").json["waits"]


def figures(hub: RunningHub) -> dict[str, float]:
    text = hub.user.get("/metrics").body.decode()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}


def test_a_client_that_dies_in_the_middle_of_a_write_stops_nobody(hub: RunningHub, stage: Stage) -> None:
    with wired(stage, "ada") as ada:
        room_id = ada.call("join_path")["room_id"]
        with writes_held_up(hub):
            note = {"op": "call", "cmd": "notes.add", "args": {"room_id": room_id, "body": "from the grave"}}
            ada.request("tools/call", name="rooms", arguments=note)
            ada.call("get_room_state", room_id=room_id)
            ada.process.kill()
            ada.process.wait()

            # Answered while the write is still held up: nobody joins a thread on the loop.
            assert hub.user.get("/healthz").status == 200


def test_waiting_clients_are_counted_and_gone_when_they_are_killed(hub: RunningHub, stage: Stage) -> None:
    with wired(stage, "ada") as ada, wired(stage, "bob") as bob:
        room_id = ada.call("join_path")["room_id"]
        bob.call("join_path")
        ada.call("wait_for_turn", room_id=room_id, max_wait_ms=0)
        bob.request("tools/call", name="wait_for_turn", arguments={"room_id": room_id, "max_wait_ms": LONG})
        until(lambda: waits(hub) == 1)

        bob.process.kill()

        until(lambda: waits(hub) == 0)
    seen = figures(hub)
    assert seen['tally_calls_total{operation="turns.wait",outcome="ok"}'] == 1
    assert seen['tally_calls_total{operation="turns.wait",outcome="caller_left"}'] == 1
    assert seen['tally_calls_total{operation="rooms.join",outcome="ok"}'] == 2


def test_more_clients_wait_over_http_than_there_are_threads(hub: RunningHub) -> None:
    room, holder = hub.user.room(), hub.agent("holder")
    holder.call("rooms.join", room_id=room)
    holder.call("turns.wait", room_id=room, max_wait_ms=0)
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "wait_for_turn", "arguments": {"room_id": room, "max_wait_ms": LONG}},
    }

    async def wait_together() -> None:
        waiting = [await _post(client, "/mcp", json.dumps(body).encode()) for client in clients]
        await asyncio.to_thread(until, lambda: waits(hub) == MANY)
        for writer in waiting:
            writer.close()

    clients = [hub.agent(f"agent-{number}") for number in range(MANY)]
    for client in clients:
        client.call("rooms.join", room_id=room)
    asyncio.run(wait_together())

    until(lambda: waits(hub) == 0)


async def _post(client: Client, path: str, body: bytes) -> asyncio.StreamWriter:
    """Send a request and leave its connection open."""
    _, writer = await asyncio.open_connection("127.0.0.1", client.hub.port)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{client.hub.port}\r\nauthorization: Bearer {client.token}\r\n"
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    return writer


@pytest.mark.parametrize("path", ["/act/made.up", "/v1/made.up", "/rooms/x/made.up"])
def test_what_a_client_makes_up_never_becomes_a_label_of_the_metrics(hub: RunningHub, path: str) -> None:
    hub.user.request("POST", path, b"{}", Content_Type="application/json")
    hub.user.get(path)

    assert [name for name in figures(hub) if "made" in name] == []


def test_a_hub_is_up_before_the_sdk_is_loaded() -> None:
    """Importing the SDK takes longer than all the rest of starting."""
    program = "import sys, tallystick.server.run; print(sorted({'mcp', 'mcp_types', 'pydantic'} & set(sys.modules)))"

    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout

    assert loaded.strip() == "[]"
