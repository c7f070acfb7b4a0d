"""The tools and resources themselves: each request is routed to an operation, carried out and encoded.

An answer is structured content, and the same JSON as text for clients that read only text. A refusal is a result that a
model reads; only what MCP cannot put into a result is a protocol error.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)

from tallystick.hub.engine import CallRequest, CallResponse
from tallystick.hub.serving import OnWait
from tallystick.kernel.errors import InternalFault, Refused, TallyError
from tallystick.kernel.operation import Answer
from tallystick.surfaces.mcp import resources, routing
from tallystick.surfaces.mcp.clients import ClientContext, McpRequest
from tallystick.surfaces.mcp.pending_requests import KEY
from tallystick.surfaces.mcp.routing import Ask, Routed
from tallystick.surfaces.mcp.tools import ToolSet

NOTICES = "tallystick/notices"


def answered(answer: Answer, notices: Sequence[str] = ()) -> CallToolResult:
    """The answer first; what else the caller should know stands beside it and never in it."""
    content = [TextContent(text=answer.to_json().decode()), *(TextContent(text=f"Notice: {each}") for each in notices)]
    result = CallToolResult(content=list(content), structured_content=answer.to_data())
    return result.model_copy(update={"meta": {NOTICES: list(notices)}}) if notices else result


def refused(error: TallyError) -> CallToolResult:
    payload = flat(error)
    return CallToolResult(
        content=[TextContent(text=msgspec.json.encode(payload).decode())], structured_content=payload, is_error=True
    )


def flat(error: TallyError) -> dict[str, object]:
    """Talking Stick's shape: the details stand beside the code, and never in its place."""
    own = {"error": error.code, "message": error.message, "hint": error.advice, "retryable": error.retryable}
    details = msgspec.json.decode(msgspec.json.encode(dict(error.details), enc_hook=str), type=dict[str, object])
    return {**own, **details, **own}


def protocol_error(error: TallyError) -> MCPError:
    """A refusal where MCP has no result to put one into: reading a resource, naming a tool that is not there."""
    code = INVALID_PARAMS if isinstance(error, Refused) else INTERNAL_ERROR
    return MCPError(code=code, message=f"{error.message} {error.advice}".strip(), data=flat(error))


T = TypeVar("T")

PROGRESS_EVERY_S = 5.0

logger = logging.getLogger("tallystick.mcp")


class Handlers:
    def __init__(self, client: ClientContext, tools: ToolSet) -> None:
        self._client, self._tools = client, tools

    @cached_property
    def _listed(self) -> ListToolsResult:
        return ListToolsResult(tools=self._tools.listed())

    async def list_tools(self, _request: McpRequest, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return self._listed

    async def list_templates(
        self, _request: McpRequest, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def call_tool(self, request: McpRequest, params: CallToolRequestParams) -> CallToolResult:
        try:
            routed = routing.route(self._tools, params.name, params.arguments or {})
        except TallyError as refusal:
            return refused(refusal)
        if routed is None:
            raise protocol_error(routing.unknown(self._tools, params.name))
        try:
            response = await self._respond(request, routed, _key(params))
        except TallyError as error:
            return refused(routed.explained(error))
        except Exception:
            logger.exception("%s failed", routed.operation.name)
            return refused(InternalFault())
        return answered(response.answer, response.notices)

    async def _respond(self, request: McpRequest, routed: Routed, key: str | None) -> CallResponse:
        name = routed.operation.name
        given = await routing.filled(routed, self._asking(request), lambda: self._client.workspace(request))
        asked = CallRequest(
            visitor=await self._client.visitor(request),
            operation=name,
            given=given,
            key=key if routed.operation.writes else None,
            with_notices=True,
        )
        progress = _progress(request) if routed.operation.waits else None
        response = await (await self._client.serving()).respond(asked, progress)
        if name == "rooms.join" and (chosen := given.get("agent_id_override")) is not None:
            self._client.named(str(chosen))
        return response

    async def list_resources(self, request: McpRequest, _params: PaginatedRequestParams | None) -> ListResourcesResult:
        found = await _read(lambda: resources.listed(self._asking(request), self._client.workspace(request)))
        return ListResourcesResult(resources=found)

    async def read_resource(self, request: McpRequest, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        return await _read(lambda: resources.read(uri, self._asking(request), self._client.workspace(request)))

    def _asking(self, request: McpRequest) -> Ask:
        async def ask(name: str, given: Mapping[str, object]) -> Answer:
            visitor = await self._client.visitor(request)
            return await (await self._client.serving()).call(visitor, name, given)

        return ask


async def _read(find: Callable[[], Awaitable[T]]) -> T:
    try:
        return await find()
    except TallyError as error:
        raise protocol_error(error) from error
    except Exception as fault:
        logger.exception("reading resources failed")
        raise protocol_error(InternalFault()) from fault


def _progress(request: McpRequest) -> OnWait:
    """Say now and then how long a wait has lasted, and of how much, to a client that asked for it."""
    told = 0.0
    telling: asyncio.Task[None] | None = None

    def waiting(elapsed: float, total: float) -> None:
        nonlocal told, telling
        if elapsed - told >= PROGRESS_EVERY_S and (telling is None or telling.done()):
            told = elapsed
            telling = asyncio.ensure_future(request.session.report_progress(elapsed, total))

    return waiting


def _key(params: CallToolRequestParams) -> str | None:
    given = (params.meta or {}).get(KEY)
    return given if isinstance(given, str) and given else None
