"""The tools and resources themselves: each request is routed to an operation, done in a worker thread and encoded.

A refusal is a result that a model reads; only what MCP cannot put into a result is a protocol error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from tallystick.kernel.caller import Caller
from tallystick.kernel.errors import InternalFault, TallyError
from tallystick.surfaces.mcp import answers, resources, routing
from tallystick.surfaces.mcp.calls import Calls, Request
from tallystick.surfaces.mcp.exchange import KEY
from tallystick.surfaces.mcp.routing import Ask, Routed
from tallystick.surfaces.mcp.tools import ToolSet
from tallystick.surfaces.mcp.workers import Attention

T = TypeVar("T")

logger = logging.getLogger("tallystick.mcp")


class Desk:
    def __init__(self, calls: Calls, tools: ToolSet) -> None:
        self._calls = calls
        self._tools = tools

    @cached_property
    def tools(self) -> ListToolsResult:
        return ListToolsResult(tools=self._tools.listed())

    @cached_property
    def templates(self) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def call(self, request: Request, params: CallToolRequestParams) -> CallToolResult:
        try:
            routed = routing.route(self._tools, params.name, params.arguments or {})
        except TallyError as refusal:
            return answers.refused(refusal)
        if routed is None:
            raise answers.protocol_error(routing.unknown(self._tools, params.name))
        attention = Attention(request.session.report_progress)
        key = _key(params) if routed.operation.writes else None

        def work() -> CallToolResult:
            return self._perform(request, routed, attention, key)

        return await request.lifespan_context.run(work, attention, waits=routed.operation.waits)

    def _perform(self, request: Request, routed: Routed, attention: Attention, key: str | None) -> CallToolResult:
        try:
            caller = self._calls.caller(request)
            given = routing.filled(routed, self._asking(caller), self._calls.workspace(request))
            name = routed.operation.name
            answer = self._calls.call(name, given, caller, attention, key=key)
            return answers.answered(answer, self._calls.notices(name, given, answer, caller))
        except TallyError as error:
            return answers.refused(routed.explained(error))
        except Exception:
            logger.exception("%s failed", routed.operation.name)
            return answers.refused(InternalFault())

    async def resources(self, request: Request) -> ListResourcesResult:
        found = await self._read(request, lambda ask: resources.listed(ask, self._calls.workspace(request)))
        return ListResourcesResult(resources=found)

    async def resource(self, request: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
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


def _key(params: CallToolRequestParams) -> str | None:
    given = (params.meta or {}).get(KEY)
    return given if isinstance(given, str) and given else None
