"""The MCP server without a transport, for whatever client a transport brings.

Knowing every operation takes longer to load than a handshake should last, so the handshake is answered without it: the
handlers are loaded by the first request that needs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mcp.server.lowlevel import Server

from tallystick import __version__

if TYPE_CHECKING:
    from tallystick.surfaces.mcp.clients import ClientContext, McpRequest
    from tallystick.surfaces.mcp.handlers import Handlers

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


def build_server(client: ClientContext, tools: Tools = "daily") -> Server[None]:
    handlers: Handlers | None = None

    def load() -> Handlers:
        from tallystick.surfaces.mcp.handlers import Handlers
        from tallystick.surfaces.mcp.tools import ToolSet

        return Handlers(client, ToolSet(tools))

    def late(name: str) -> Callable[[McpRequest, Any], Awaitable[Any]]:
        async def handle(request: McpRequest, params: Any) -> Any:
            nonlocal handlers
            if handlers is None:
                handlers = await asyncio.to_thread(load)
            return await getattr(handlers, name)(request, params)

        return handle

    return Server(
        "tallystick",
        version=__version__,
        title="Tallystick",
        instructions=INSTRUCTIONS,
        lifespan=_nothing,
        on_list_tools=late("list_tools"),
        on_call_tool=late("call_tool"),
        on_list_resources=late("list_resources"),
        on_list_resource_templates=late("list_templates"),
        on_read_resource=late("read_resource"),
    )


@asynccontextmanager
async def _nothing(_: Server[None]) -> AsyncGenerator[None]:
    yield None
