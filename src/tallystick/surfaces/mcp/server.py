"""The MCP server without a transport: tools and resources over whatever `Calls` it is given.

Nothing here is tied to an MCP session, because the protocol of 2026-07-28 has none: who is calling is asked anew at
every request. A refusal is a result that a model reads; only what MCP cannot put into a result is a protocol error.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar

from mcp.server.context import ServerRequestContext
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
from tallystick.kernel.caller import Caller
from tallystick.kernel.errors import InternalFault, TallyError
from tallystick.kernel.operation import Answer
from tallystick.surfaces.mcp import answers, resources, routing
from tallystick.surfaces.mcp.routing import Ask, Routed
from tallystick.surfaces.mcp.tools import ToolSet
from tallystick.surfaces.mcp.workers import Attention, Workers, hired

Request: TypeAlias = ServerRequestContext[Workers, Any]
T = TypeVar("T")

logger = logging.getLogger("tallystick.mcp")

INSTRUCTIONS = """\
Several agents share this workspace; one at a time holds its stick and changes things.
1. list_rooms shows what is going on; join_path enters the room of your workspace. Use the room_id it returns.
2. wait_for_turn until it answers your_turn; call it again on not_yet. Do no shared work before that.
3. Read the handoff first: load its artifacts, respect do_not. Keep turn_id and lease_id for every call as holder.
4. While you work, call heartbeat at the room's heartbeat_interval_ms.
5. End with release_stick (next in sequence) or pass_stick (one member), with a true status and a next_action.
On stale_lease or turn_mismatch stop working: the stick is no longer yours. Read get_room_state, then wait again.
takeover_stick only when wait_for_turn or get_room_state offers it; then get_room_events tells what went before.
Every refusal has a hint that says what to do next."""


class Calls(Protocol):
    """What a transport brings: who is calling, from where, and a hub that answers. Used from worker threads."""

    def caller(self, request: Request, /) -> Caller: ...

    def workspace(self, request: Request, /) -> str | None:
        """Where the caller works, for those who join without saying so."""
        ...

    def call(
        self, name: str, given: Mapping[str, object], caller: Caller, interest: Attention | None = None, /
    ) -> Answer: ...


def build_server(calls: Calls, tools: ToolSet = ToolSet.DAILY) -> Server[Workers]:
    desk = _Desk(calls, tools)
    return Server(
        "tallystick",
        version=__version__,
        title="Tallystick",
        instructions=INSTRUCTIONS,
        lifespan=_lifespan,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_resources=desk.list_resources,
        on_list_resource_templates=desk.list_templates,
        on_read_resource=desk.read_resource,
    )


@asynccontextmanager
async def _lifespan(_: Server[Workers]) -> AsyncGenerator[Workers]:
    with hired() as workers:
        yield workers


class _Desk:
    """The handlers of one server."""

    def __init__(self, calls: Calls, tools: ToolSet) -> None:
        self._calls = calls
        self._tools = tools

    @cached_property
    def _listing(self) -> ListToolsResult:
        return ListToolsResult(tools=self._tools.listed())

    async def list_tools(self, _request: Request, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return self._listing

    async def call_tool(self, request: Request, params: CallToolRequestParams) -> CallToolResult:
        try:
            routed = routing.route(self._tools, params.name, params.arguments or {})
        except TallyError as refusal:
            return answers.refused(refusal)
        if routed is None:
            raise answers.protocol_error(routing.unknown(self._tools, params.name))
        attention = Attention(request.session.report_progress)

        def work() -> CallToolResult:
            return self._perform(request, routed, attention)

        return await request.lifespan_context.run(work, attention, waits=routed.operation.waits)

    def _perform(self, request: Request, routed: Routed, attention: Attention) -> CallToolResult:
        try:
            caller = self._calls.caller(request)
            given = routing.filled(routed, self._asking(caller), self._calls.workspace(request))
            return answers.answered(self._calls.call(routed.operation.name, given, caller, attention))
        except TallyError as error:
            return answers.refused(routed.explained(error))
        except Exception:
            logger.exception("%s failed", routed.operation.name)
            return answers.refused(InternalFault())

    async def list_resources(self, request: Request, _params: PaginatedRequestParams | None) -> ListResourcesResult:
        found = await self._read(request, lambda ask: resources.listed(ask, self._calls.workspace(request)))
        return ListResourcesResult(resources=found)

    async def list_templates(
        self, _request: Request, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(self, request: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        return await self._read(request, lambda ask: resources.read(uri, ask, self._calls.workspace(request)))

    async def _read(self, request: Request, find: Callable[[Ask], T]) -> T:
        def work() -> T:
            try:
                return find(self._asking(self._calls.caller(request)))
            except TallyError as error:
                raise answers.protocol_error(error) from error
            except Exception as fault:
                logger.exception("reading resources failed")
                raise answers.protocol_error(InternalFault()) from fault

        return await request.lifespan_context.run(work, Attention(), waits=False)

    def _asking(self, caller: Caller) -> Ask:
        return lambda name, given: self._calls.call(name, given, caller)
