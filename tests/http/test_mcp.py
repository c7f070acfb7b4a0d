"""MCP on the hub: the official client over streamable HTTP, with a token or over the socket, in both revisions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import cast

import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from tallystick.hub import tokens
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tests.http.running import Client, Json, RunningHub
from tests.http.test_waits import claim, company, release
from tests.scene import HANDOFF
from tests.waiting import until

MODES: Mapping[str, str] = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}


@pytest.fixture
def hub(process_hub: RunningHub) -> RunningHub:
    return process_hub


@pytest.fixture(params=sorted(MODES))
def mode(request: pytest.FixtureRequest) -> str:
    return MODES[request.param]


@asynccontextmanager
async def connected(client: Client, mode: str) -> AsyncGenerator[McpClient]:
    transport = httpx2.AsyncHTTPTransport(uds=str(client.hub.data_dir / "hub.sock")) if client.over_socket else None
    headers = {"Authorization": f"Bearer {client.token}"} if client.token else {}
    async with httpx2.AsyncClient(headers={**headers, **client.headers}, transport=transport, timeout=60) as http:
        wire = streamable_http_client(f"http://127.0.0.1:{client.hub.port}/mcp", http_client=http)
        async with McpClient(wire, mode=mode) as mcp:
            yield mcp


async def call(mcp: McpClient, tool: str, **arguments: object) -> tuple[bool, Json]:
    result = await mcp.call_tool(tool, arguments)
    return bool(result.is_error), cast("Json", result.structured_content)


def test_the_stick_goes_round_between_mcp_and_http(hub: RunningHub, mode: str) -> None:
    room, (ann, bob) = company(hub, "ann", "bob")
    turn = claim(ann, room)

    async def wait_and_see() -> tuple[bool, Json]:
        async with connected(bob, mode) as mcp:
            waiting = asyncio.create_task(call(mcp, "wait_for_turn", room_id=room, max_wait_ms=60_000))
            await asyncio.to_thread(release, ann, turn)
            return await waiting

    failed, got = asyncio.run(wait_and_see())

    assert (failed, got["status"], got["handoff"]) == (False, "your_turn", HANDOFF)


def test_the_token_says_who_is_calling(hub: RunningHub, mode: str) -> None:
    room = hub.user.room()

    async def join() -> tuple[bool, Json]:
        async with connected(hub.agent("from-token", room), mode) as mcp:
            return await call(mcp, "join_path", room_id=room)

    failed, joined = asyncio.run(join())

    assert (failed, joined["agent_id"]) == (False, "from-token")


def test_a_token_for_one_room_reaches_no_other_through_a_tool(hub: RunningHub, mode: str) -> None:
    own, other = hub.user.room(), hub.user.room()

    async def look() -> tuple[bool, Json]:
        async with connected(hub.agent("curious", own), mode) as mcp:
            return await call(mcp, "get_room_state", room_id=other)

    failed, refusal = asyncio.run(look())

    assert (failed, refusal["error"]) == (True, "other_room")


def test_a_token_for_one_room_finds_it_as_the_instructions_say(hub: RunningHub, mode: str) -> None:
    own, _other = hub.user.room(), hub.user.room()

    async def look() -> tuple[bool, Json]:
        async with connected(hub.agent("new-here", own), mode) as mcp:
            return await call(mcp, "list_rooms")

    failed, found = asyncio.run(look())

    assert (failed, [each["room_id"] for each in cast("list[Json]", found["rooms"])]) == (False, [own])


def test_over_the_socket_a_name_may_be_given(hub: RunningHub, mode: str) -> None:
    room = hub.user.room()
    client = hub.local
    client.headers["Tally-Agent"] = "named-over-socket"

    async def join() -> tuple[bool, Json]:
        async with connected(client, mode) as mcp:
            return await call(mcp, "join_path", room_id=room)

    failed, joined = asyncio.run(join())

    assert (failed, joined["agent_id"]) == (False, "named-over-socket")


def test_without_a_token_there_is_no_mcp(hub: RunningHub) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

    reply = Client(hub).request("POST", "/mcp", body, Content_Type="application/json")

    assert reply.refused == (401, "token_missing")


def test_a_page_of_another_origin_cannot_use_mcp(hub: RunningHub) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

    reply = hub.user.request("POST", "/mcp", body, Content_Type="application/json", Origin="https://evil.example")

    assert reply.refused == (403, "foreign_origin")


def test_a_client_that_left_claims_no_turn_through_a_tool(hub: RunningHub, mode: str) -> None:
    room, (ann, bob) = company(hub, "ann", "bob")
    turn = claim(ann, room)

    async def wait_and_leave() -> None:
        async with connected(bob, mode) as mcp:
            pending = asyncio.create_task(call(mcp, "wait_for_turn", room_id=room, max_wait_ms=60_000))
            # The hub has taken the call once another one on the same connection is answered.
            await call(mcp, "get_room_state", room_id=room)
            pending.cancel()
            await asyncio.gather(pending, return_exceptions=True)

    asyncio.run(wait_and_leave())
    release(ann, turn)

    state = ann.call("turns.state", room_id=room)
    assert (state["owner"], state["reserved_for"]) == (None, "bob")


def revoke(hub: RunningHub, principal: str) -> None:
    directly = Hub.open(Settings(data_dir=hub.data_dir))
    try:
        for token in tokens.every_token(directly):
            if token.principal == principal:
                tokens.revoke(directly, token.id)
    finally:
        directly.close()


@pytest.mark.parametrize("tool", ["wait_for_turn", "messages"])
def test_a_revoked_token_ends_its_waits_and_hears_nothing_more(hub: RunningHub, mode: str, tool: str) -> None:
    room, (ann, bob) = company(hub, "ann", "revoked")
    turn = claim(ann, room)
    args: Json = {"room_id": room, "max_wait_ms": 110_000}
    given = args if tool == "wait_for_turn" else {"op": "inbox", "args": args}

    async def wait() -> BaseException | tuple[bool, Json]:
        async with connected(bob, mode) as mcp:
            pending = asyncio.create_task(call(mcp, tool, **given))
            await asyncio.to_thread(until, lambda: hub.local.get("/v1/status").json["waits"] == 1)
            await asyncio.to_thread(revoke, hub, "revoked")
            await asyncio.to_thread(until, lambda: hub.local.get("/v1/status").json["waits"] == 0)
            (ended,) = await asyncio.gather(pending, return_exceptions=True)
            return ended

    ended = asyncio.run(wait())
    ann.call("messages.send", room_id=room, text="after", to=["revoked"])
    release(ann, turn)

    assert isinstance(ended, Exception)
    state = ann.call("turns.state", room_id=room)
    assert (state["owner"], state["reserved_for"]) == (None, "revoked")


def test_a_revoked_token_ends_the_stream_that_only_listens(hub: RunningHub) -> None:
    room = hub.user.room()
    agent = hub.agent("listener", room)
    connection, response = agent.start("GET", "/mcp", None, {"Accept": "text/event-stream"})
    assert response.status == 200

    revoke(hub, "listener")

    assert response.read().replace(b"\r", b"").strip(b"\n") in {b"", b": ping"}
    connection.close()
