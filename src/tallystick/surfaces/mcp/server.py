"""The MCP server without a transport, and what a transport brings to it: who is calling, from where, and the hub.

Who calls is asked anew at every request: MCP of 2026-07-28 has no session to tie anything to. Knowing every operation
takes longer to load than a handshake should last, so the handshake is answered without it: the handlers are loaded by
the first request that needs them. Lines that are no JSON-RPC are answered here: the SDK drops them without a word.

Prompts, which harnesses offer to a person as slash commands, only say to the model what the person wants.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    GetPromptResult,
    JSONRPCError,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)
from pydantic import ValidationError

from tallystick import __version__
from tallystick.kernel.errors import NotFound, did_you_mean
from tallystick.kernel.json_values import is_object

if TYPE_CHECKING:
    from tallystick.harnesses.processes import Ancestor
    from tallystick.hub.serving import Serving
    from tallystick.hub.visitor import Visitor
    from tallystick.kernel.caller import Caller
    from tallystick.surfaces.mcp.handlers import Handlers

McpRequest: TypeAlias = ServerRequestContext[None, Any]
"""One MCP request as the SDK hands it over."""


class ClientContext(Protocol):
    async def visitor(self, request: McpRequest, /) -> Visitor: ...

    def workspace(self, request: McpRequest, /) -> str | None:
        """Where the caller works, for those who join without saying so."""
        ...

    async def serving(self) -> Serving: ...

    def named(self, name: str, /) -> None:
        """The caller has joined under a name it chose itself (`agent_id_override`)."""
        ...


class ProcessClient:
    """A client on this machine, known by the process that it started as its server."""

    def __init__(
        self,
        serving: Callable[[], Awaitable[Serving]],
        *,
        pid: int,
        environ: Mapping[str, str],
        folder: Callable[[], str | None],
        called: str | None = None,
        renamed: Callable[[str], None] = lambda _name: None,
    ) -> None:
        """`pid`, `environ` and `folder` are those of that process; `renamed` hears of a name the caller chose."""
        self._serving, self._pid, self._environ, self._folder = serving, pid, environ, folder
        self._called, self._renamed = called, renamed
        self._above: Sequence[Ancestor] | None = None

    async def visitor(self, request: McpRequest) -> Visitor:
        from tallystick.hub.visitor import Visitor

        info = request.session.client_params
        client = info.client_info.name if info else None
        return Visitor(caller=self._resolved(client, request.meta or {}), trusted=True)

    def _resolved(self, client: str | None, meta: Mapping[str, object]) -> Caller:
        from tallystick.harnesses import identity, processes
        from tallystick.kernel.caller import SessionKind

        if self._above is None:
            # Reads a few files of /proc; the processes above us cannot change while it keeps this connection.
            self._above = tuple(processes.ancestors(self._pid))
            identity.note_window(self._environ, self._above)
        found = identity.resolve(
            self._environ,
            pid=self._pid,
            user="",
            tty=None,
            surface="mcp",
            client_name=client,
            told=identity.told_with_call(client, meta, self._environ),
            above=self._above,
        )
        name = self._called
        if name is None:
            return found
        return replace(found, agent_id=name, display_name=name, session=SessionKind.NAMED, overridden=True)

    def workspace(self, _request: McpRequest) -> str | None:
        return self._environ.get("CLAUDE_PROJECT_DIR") or self._folder()

    async def serving(self) -> Serving:
        return await self._serving()

    def named(self, name: str) -> None:
        self._called = name
        self._renamed(name)


Tools: TypeAlias = Literal["core", "daily", "full"]

INSTRUCTIONS = """\
Several agents share this workspace: they take turns with its stick, reserve what they edit and write to each other.
1. list_rooms shows what goes on. join_path enters your room: use the room_id it returns, even if the path differs.
2. Read your mail: messages {"op": "inbox", "args": {"room_id": …}}; answer with op send, accept with op ack.
3. wait_for_turn until it answers your_turn; on not_yet call it again; no shared work before. Alone, or where the mode
   is parallel, work without a turn. Read the handoff first, load its artifacts, respect its do_not.
   As holder give lease_id and turn_id with every call, never a name: who you are is known.
4. Reserve before you edit: agents {"op": "call", "cmd": "reservations.reserve", "args": {"room_id": …, "path": …}}.
5. While you hold the stick, call heartbeat at the room's heartbeat_interval_ms.
6. Hand over with release_stick (next in sequence) or pass_stick (one member): a true status and a next_action.
`notices` are for you. On stale_lease, turn_mismatch or unknown_member stop: the stick is not yours; wait again.
takeover_stick, with a reason, only when wait_for_turn or get_room_state offers it; then read get_room_events.
Leave a note with rooms {"op": "call", "cmd": "notes.add"}. Every refusal has a hint that says what to do next."""


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
        on_list_prompts=late("list_prompts"),
        on_get_prompt=late("get_prompt"),
    )


@asynccontextmanager
async def _nothing(_: Server[None]) -> AsyncGenerator[None]:
    yield None


class MessageSource(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...

    async def aclose(self) -> None: ...


class MessageSink(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


class Screened:
    """What comes in, with everything unreadable answered on the way out instead."""

    def __init__(self, incoming: MessageSource, outgoing: MessageSink) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    async def receive(self) -> SessionMessage | Exception:
        while isinstance(item := await self._incoming.receive(), Exception):
            if complaint := _complaint(item):
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self._outgoing.send(SessionMessage(complaint))
        return item

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


def _complaint(wrong: Exception) -> JSONRPCError | None:
    """The error response to a line; None for an empty one."""
    if not isinstance(wrong, ValidationError):
        return _error(PARSE_ERROR, str(wrong), [])
    problems = wrong.errors(include_url=False)
    inputs: list[object] = [each["input"] for each in problems]
    if problems[0]["type"] != "json_invalid":
        return _error(INVALID_REQUEST, "The line is no JSON-RPC request, notification or response.", inputs)
    line = str(inputs[0])
    if not line.strip():
        return None
    message = f"{problems[0]['msg']}. Send valid JSON in UTF-8, without lone surrogates."
    try:
        return _error(PARSE_ERROR, message, [json.loads(line)])
    except (ValueError, RecursionError):
        return _error(PARSE_ERROR, message, [])


def _error(code: int, message: str, inputs: Sequence[object]) -> JSONRPCError:
    request_id = next((found for each in inputs if (found := _request_id(each)) is not None), None)
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


def _request_id(line: object) -> str | int | None:
    """The id of the request that a line was meant to be. A response's id belongs to somebody else's request."""
    if not is_object(line) or "method" not in line:
        return None
    given = line.get("id")
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


class PromptNotFound(NotFound):
    """There is no such prompt."""

    hint = "The prompts are join, hand_over and inbox."


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand:
    about: str
    text: str
    argument: str = ""
    """What may be given with it, which then stands in the text's `{}`."""
    argument_about: str = ""
    otherwise: str = ""
    """What stands there when nothing was given."""


PROMPTS: Mapping[str, SlashCommand] = {
    "join": SlashCommand(
        about="Join the room of this workspace and read what waits there.",
        text="""\
Join the others who work in this workspace: call join_path, then messages {"op": "inbox", "args": {"room_id": …}} with
the room_id it returned, and agents {"op": "call", "cmd": "reservations.status", "args": {"room_id": …}}. Tell me in a
few lines who is here, whose turn it is, what others have reserved and what the mail says. Change nothing yet.""",
    ),
    "hand_over": SlashCommand(
        about="Hand the stick over with a handoff, and release what is reserved.",
        argument="to",
        argument_about="The agent who gets it; without, the next in sequence.",
        otherwise="the next in sequence with release_stick",
        text="""\
Hand over to {}. If you do not hold the stick, say so and stop. Write the handoff from what really happened: status
(done, learned, unfinished), next_action, and artifacts to look at. Release your reservations first: agents
{{"op": "call", "cmd": "reservations.release", "args": {{"room_id": …, "path": …}}}}. Then tell me what you wrote.""",
    ),
    "inbox": SlashCommand(
        about="Read the mail from other agents and answer it.",
        text="""\
Read your mail: messages {"op": "inbox", "args": {"room_id": …}}. Tell me what it says. Accept what asks for it with
messages {"op": "ack", "args": {"room_id": …, "event_id": …}}, answer where an answer is due with
messages {"op": "send", "args": {"room_id": …, "reply_to": …, "text": …}}, and mark the rest read with op read.""",
    ),
}


def listed_prompts() -> list[Prompt]:
    return [
        Prompt(
            name=name,
            description=each.about,
            arguments=[PromptArgument(name=each.argument, description=each.argument_about, required=False)]
            if each.argument
            else None,
        )
        for name, each in PROMPTS.items()
    ]


def spoken_prompt(name: str, given: Mapping[str, str]) -> GetPromptResult:
    """The prompt as the message of a person."""
    command = PROMPTS.get(name)
    if command is None:
        raise PromptNotFound(f"There is no prompt '{name[:80]}'.{did_you_mean(name, PROMPTS)}", prompt=name[:80])
    to = given.get(command.argument, "").strip()
    text = (
        command.text.format(f"{to} with pass_stick" if to else command.otherwise) if command.argument else command.text
    )
    return GetPromptResult(
        description=command.about, messages=[PromptMessage(role="user", content=TextContent(text=text))]
    )
