"""The MCP server without a transport, over whatever `Calls` it is given.

Knowing every operation takes longer to load than a handshake should last, so the handshake is answered without it: the
desk that does the work is set up by the first request for some.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from tallystick import __version__
from tallystick.surfaces.mcp.calls import Calls, Request
from tallystick.surfaces.mcp.workers import Workers, hired

if TYPE_CHECKING:
    from tallystick.surfaces.mcp.desk import Desk

Tools: TypeAlias = Literal["core", "daily", "full"]

INSTRUCTIONS = """\
Several agents share this workspace; one at a time holds its stick and changes things.
1. list_rooms shows what is going on; join_path enters the room of your workspace. Use the room_id it returns, even if
   its path is not the one you asked for.
2. wait_for_turn until it answers your_turn; call it again on not_yet. Do no shared work before that.
3. Read the handoff first: load its artifacts, respect do_not. Give turn_id and lease_id with every call as holder,
   never a name: who you are is known.
4. While you work, call heartbeat at the room's heartbeat_interval_ms.
5. End with release_stick (next in sequence) or pass_stick (one member), with a true status and a next_action.
On stale_lease, turn_mismatch or unknown_member stop: the stick is not yours. Read get_room_state, wait again.
takeover_stick, with a reason, only when wait_for_turn or get_room_state offers it; get_room_events tells the rest.
Every refusal has a hint that says what to do next."""


def build_server(calls: Calls, tools: Tools = "daily") -> Server[Workers]:
    door = _Door(calls, tools)
    return Server(
        "tallystick",
        version=__version__,
        title="Tallystick",
        instructions=INSTRUCTIONS,
        lifespan=door.open,
        on_list_tools=door.list_tools,
        on_call_tool=door.call_tool,
        on_list_resources=door.list_resources,
        on_list_resource_templates=door.list_templates,
        on_read_resource=door.read_resource,
    )


class _Door:
    """Takes requests in before the desk is ready, and hands them on."""

    def __init__(self, calls: Calls, tools: Tools) -> None:
        self._calls = calls
        self._tools: Tools = tools
        self._desk: Desk | None = None

    @asynccontextmanager
    async def open(self, _: Server[Workers]) -> AsyncGenerator[Workers]:
        with hired() as workers:
            yield workers

    async def list_tools(self, _request: Request, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return (await self._ready()).tools

    async def call_tool(self, request: Request, params: CallToolRequestParams) -> CallToolResult:
        return await (await self._ready()).call(request, params)

    async def list_resources(self, request: Request, _params: PaginatedRequestParams | None) -> ListResourcesResult:
        return await (await self._ready()).resources(request)

    async def list_templates(
        self, _request: Request, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return (await self._ready()).templates

    async def read_resource(self, request: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await (await self._ready()).resource(request, params)

    async def _ready(self) -> Desk:
        return self._desk or await asyncio.to_thread(self._load)

    def _load(self) -> Desk:
        from tallystick.surfaces.mcp.desk import Desk
        from tallystick.surfaces.mcp.tools import ToolSet

        self._desk = Desk(self._calls, ToolSet(self._tools))
        return self._desk
