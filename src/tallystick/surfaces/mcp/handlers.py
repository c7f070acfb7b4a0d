"""The tools and resources themselves: each request is routed to an operation and carried out.

An answer is structured content, and the same JSON as text for clients that read only text. A refusal is a result that a
model reads; only what MCP cannot put into a result is a protocol error.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar
from urllib.parse import quote, unquote

import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)
from msgspec import structs

from tallystick.capabilities.rooms.contract import Rooms
from tallystick.hub.engine import CallRequest, CallResponse
from tallystick.hub.registry import OPERATIONS
from tallystick.hub.serving import OnWait
from tallystick.kernel import hints, scopes
from tallystick.kernel.errors import (
    InternalFault,
    InvalidInput,
    NoRoomHere,
    NotFound,
    Refused,
    TallyError,
    UnknownOperation,
    did_you_mean,
)
from tallystick.kernel.hints import tool_call
from tallystick.kernel.operation import Answer, AnyOperation
from tallystick.surfaces.mcp import server
from tallystick.surfaces.mcp.server import ClientContext, McpRequest
from tallystick.surfaces.mcp.shim import KEY
from tallystick.surfaces.mcp.tools import Portal, ToolSet

Ask: TypeAlias = Callable[[str, Mapping[str, object]], Awaitable[Answer]]
"""Another operation, asked for the same caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    operation: AnyOperation
    given: Mapping[str, object]
    workspace: str | None = None
    portal: Portal | None = None

    def explained(self, error: TallyError) -> TallyError:
        """A portal's schema does not show an operation's fields, so a wrong input is answered with a right one."""
        if self.portal is None or not isinstance(error, InvalidInput):
            return error
        return self.portal.with_example(error, self.operation.name, hint=error.declared)


IN_LINES: Mapping[str, str] = {
    "jobs.radar": "lines",
    "jobs.list": "json",
    "jobs.message": "json",
    "jobs.open": "json",
}
"""What can be answered with lines, and what it is answered with unasked. The moves in lines are tool calls here.

An agent pays for every byte of what it looks at most.
"""


def route(tools: ToolSet, tool: str, arguments: Mapping[str, object]) -> Routed | None:
    """What a call of `tool` means; None when this set has no such tool."""
    if name := tools.named.get(tool):
        return Routed(operation=OPERATIONS[name], given=arguments)
    if portal := tools.portals.get(tool):
        command = portal.read(arguments)
        return Routed(operation=command.operation, given=command.given, workspace=command.workspace, portal=portal)
    return None


def unknown(tools: ToolSet, tool: str) -> UnknownOperation:
    names = [*tools.named, *tools.portals]
    meant = did_you_mean(tool, names)
    return UnknownOperation(
        f"There is no tool '{tool[:80]}'.{meant}", hint="Call one of the listed tools.", tool=tool[:80], valid=names
    )


async def filled(routed: Routed, ask: Ask, here: Callable[[], str | None]) -> Mapping[str, object]:
    """The operation's input, with the room or path that the workspace stands for; what was given wins."""
    given = routed.given
    if routed.workspace is not None:
        given = {**await _placed(routed.operation, routed.workspace, ask), **given}
    if routed.operation.name in IN_LINES and given.get("fmt", IN_LINES[routed.operation.name]) == "lines":
        given = {"fmt": "lines", "moves": "tool", **given}
    if routed.operation.name != "rooms.join" or given.get("context_path") or given.get("room_id"):
        return given
    path = here()
    return {**given, "context_path": path} if path else given


async def _placed(operation: AnyOperation, workspace: str, ask: Ask) -> Mapping[str, object]:
    fields = {field.encode_name: field for field in structs.fields(operation.ask)}
    room = fields.get("room_id")
    is_path = scopes.is_absolute(workspace, windows=os.name == "nt")
    if is_path and "context_path" in fields and not (room and room.required):
        return {"context_path": workspace}
    if room is None:
        return {}
    return {"room_id": await _room_at(workspace, ask) if is_path else workspace}


async def _room_at(path: str, ask: Ask) -> str:
    answer = await ask("rooms.list", {"context_path": path, "limit": 1})
    if not isinstance(answer, Rooms) or not answer.rooms:
        raise NoRoomHere(f"There is no room at {path} or above it in its workspace.", workspace=path)
    return answer.rooms[0].room_id


ROOMS = "tally://rooms"
_JSON = "application/json"
_IN_A_ROOM = re.compile(r"tally://rooms/([^/?#]+)/(state|handoffs)")
_ABOUT: Mapping[str, str] = {
    "state": "Whose turn it is, who comes next and whether the stick may be taken over.",
    "handoffs": "The recent handoffs, word for word, oldest first.",
}
_RECENT = 50


class ResourceNotFound(NotFound):
    """There is no such resource."""

    hint = "Read tally://rooms, tally://rooms/{room_id}/state or tally://rooms/{room_id}/handoffs."


TEMPLATES = [
    ResourceTemplate(
        name=f"room_{part}", uri_template=f"{ROOMS}/{{room_id}}/{part}", description=about, mime_type=_JSON
    )
    for part, about in _ABOUT.items()
]


async def listed(ask: Ask, workspace: str | None) -> list[Resource]:
    rooms = Resource(name="rooms", uri=ROOMS, description="The rooms reachable from the workspace.", mime_type=_JSON)
    return [rooms, *(each for room in await _rooms(ask, workspace) for each in _in_room(room))]


def _in_room(room: Mapping[str, object]) -> list[Resource]:
    room_id, title = str(room["room_id"]), str(room["title"])
    return [
        Resource(
            name=f"{title}: {part}",
            uri=f"{ROOMS}/{quote(room_id, safe='')}/{part}",
            description=about,
            mime_type=_JSON,
        )
        for part, about in _ABOUT.items()
    ]


async def read(uri: str, ask: Ask, workspace: str | None) -> ReadResourceResult:
    text = msgspec.json.encode(await _content(uri, ask, workspace)).decode()
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=_JSON, text=text)])


async def _content(uri: str, ask: Ask, workspace: str | None) -> Mapping[str, object]:
    if uri == ROOMS:
        return {"rooms": await _rooms(ask, workspace)}
    found = _IN_A_ROOM.fullmatch(uri)
    if found is None:
        raise ResourceNotFound(f"There is no resource '{uri[:200]}'.", uri=uri[:200])
    room_id = unquote(found[1])
    if found[2] == "state":
        return (await ask("turns.state", {"room_id": room_id})).to_data()
    history = await ask("turns.history", {"room_id": room_id, "newest": True, "limit": _RECENT})
    events: Sequence[Mapping[str, object]] = history.to_data()["events"]
    return {"room_id": room_id, "handoffs": [event for event in events if event["handoff"]]}


async def _rooms(ask: Ask, workspace: str | None) -> Sequence[Mapping[str, object]]:
    answer = await ask("rooms.list", {} if workspace is None else {"context_path": workspace})
    rooms: Sequence[Mapping[str, object]] = answer.to_data()["rooms"]
    return rooms


NOTICES = "tallystick/notices"


def answered(answer: Answer, notices: Sequence[str] = ()) -> CallToolResult:
    """The answer, and in it under `notices` what else the caller should know.

    Claude Code and Codex show their model nothing but the structured content, so what stands elsewhere is never read.
    """
    if not notices:
        return CallToolResult(
            content=[TextContent(text=answer.to_json().decode())], structured_content=answer.to_data()
        )
    told = {**answer.to_data(), "notices": list(notices)}
    result = CallToolResult(content=[TextContent(text=msgspec.json.encode(told).decode())], structured_content=told)
    return result.model_copy(update={"meta": {NOTICES: list(notices)}})


def refused(error: TallyError) -> CallToolResult:
    payload = flat(error)
    return CallToolResult(
        content=[TextContent(text=msgspec.json.encode(payload).decode())], structured_content=payload, is_error=True
    )


def flat(error: TallyError) -> dict[str, object]:
    """Talking Stick's shape: the details stand beside the code, and never in its place."""
    own = {
        "error": error.code,
        "message": error.message,
        "hint": error.advice_in(tool_call),
        "retryable": error.retryable,
    }
    details = msgspec.json.decode(msgspec.json.encode(dict(error.details), enc_hook=str), type=dict[str, object])
    return {**own, **details, **own}


def protocol_error(error: TallyError) -> MCPError:
    """A refusal where MCP has no result to put one into: reading a resource, naming a tool that is not there."""
    code = INVALID_PARAMS if isinstance(error, Refused) else INTERNAL_ERROR
    return MCPError(code=code, message=f"{error.message} {error.advice_in(tool_call)}".strip(), data=flat(error))


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
        return ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def call_tool(self, request: McpRequest, params: CallToolRequestParams) -> CallToolResult:
        try:
            routed = route(self._tools, params.name, params.arguments or {})
        except TallyError as refusal:
            return refused(refusal)
        if routed is None:
            raise protocol_error(unknown(self._tools, params.name))
        try:
            response = await self._respond(request, routed, _key(params))
        except TallyError as error:
            return refused(routed.explained(error))
        except Exception:
            logger.exception("%s failed", routed.operation.name)
            return refused(InternalFault())
        notices = [hints.said(each, tool_call, {hints.ROOM: response.room_id}) for each in response.notices]
        return answered(response.answer, notices)

    async def _respond(self, request: McpRequest, routed: Routed, key: str | None) -> CallResponse:
        name = routed.operation.name
        given = await filled(routed, self._asking(request), lambda: self._client.workspace(request))
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
        found = await _read(lambda: listed(self._asking(request), self._client.workspace(request)))
        return ListResourcesResult(resources=found)

    async def read_resource(self, request: McpRequest, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        return await _read(lambda: read(uri, self._asking(request), self._client.workspace(request)))

    async def list_prompts(self, _request: McpRequest, _params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=server.listed_prompts())

    async def get_prompt(self, _request: McpRequest, params: GetPromptRequestParams) -> GetPromptResult:
        try:
            return server.spoken_prompt(params.name, params.arguments or {})
        except TallyError as refusal:
            raise protocol_error(refusal) from refusal

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
