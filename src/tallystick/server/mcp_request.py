"""One MCP request in a POST, answered in the task that brought it.

A client of the revisions with a handshake puts one message into each POST. The SDK's transport for them starts nine
tasks and four streams for it, some three milliseconds; its `serve_one` needs none of them. The answer is plain JSON,
unless there is something to say before it: progress, or after a while that the hub still works on it. Everything else,
from notifications to what is malformed, is left to the SDK's transport. This loads the SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import anyio
import msgspec
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallystick.surfaces.http.request_context import answer, body, context_of, while_connected

QUIET_SECONDS = 15.0
"""An answer that takes longer shows so often that it is still to come, for proxies that end what is silent."""
STREAM = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class McpCall(msgspec.Struct, kw_only=True):
    """A JSON-RPC request."""

    jsonrpc: Literal["2.0"]
    id: str | int
    method: str
    params: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(McpCall).decode


class McpRequests:
    def __init__(self, server: Server[None], body_bytes: int, *, others: ASGIApp) -> None:
        self._server, self._body_bytes, self._others = server, body_bytes, others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = context_of(scope).head
        version = head.get(b"mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION.encode()).decode("latin-1")
        if scope["method"] != "POST" or version not in HANDSHAKE_PROTOCOL_VERSIONS or not _takes_both(head):
            await self._others(scope, receive, send)
            return
        content = await body(scope, receive, self._body_bytes)
        asked = _request_in(content)
        if asked is None:
            await self._others(scope, _from_the_start(content, receive), send)
            return
        exchange = _McpExchange(asked, Request(scope, receive), send)
        with exchange.kept_alive():
            outcome = await while_connected(receive, self._outcome(asked, version, exchange))
        await exchange.finish({"jsonrpc": "2.0", "id": asked.id, **outcome})

    async def _outcome(self, asked: McpCall, version: str, exchange: _McpExchange) -> dict[str, object]:
        call = serve_one(
            self._server,
            exchange,
            asked.method,
            asked.params,
            connection=Connection.from_envelope(version, None, None),
            lifespan_state=None,
        )
        try:
            return {"result": await call}
        except Exception as failed:  # noqa: BLE001 - whatever a handler fails with, its client is told
            return {"error": modern_error_data(failed).model_dump(mode="json", by_alias=True, exclude_none=True)}


class _McpExchange:
    """What the SDK wants to know of a request, and the way back to its client."""

    transport = TransportContext(kind="streamable-http", can_send_request=False)
    can_send_request = False

    def __init__(self, asked: McpCall, request: Request, send: Send) -> None:
        self.request_id = asked.id
        self.message_metadata = ServerMessageMetadata(request_context=request)
        self.cancel_requested = anyio.Event()
        self._progress_token = progress_token_from_params(asked.params)
        self._send = send
        self._writing = asyncio.Lock()
        self._streaming = self._over = False
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._comment: asyncio.Task[None] | None = None

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002 - the SDK's signature, as below
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> None:
        await self._stream(_event({"jsonrpc": "2.0", "method": method, "params": dict(params or {})}))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._progress_token is None:
            return
        said = {"progressToken": self._progress_token, "progress": progress, "total": total, "message": message}
        await self.notify("notifications/progress", {name: each for name, each in said.items() if each is not None})

    @contextmanager
    def kept_alive(self) -> Generator[None]:
        """Stream a comment every so often, as long as this lasts."""
        self._wait()
        try:
            yield
        finally:
            if self._timer:
                self._timer.cancel()

    async def finish(self, message: dict[str, object]) -> None:
        async with self._writing:
            self._over = True
            if self._streaming:
                await self._send({"type": "http.response.body", "body": _event(message)})
            else:
                await answer(self._send, msgspec.json.encode(message))

    def _wait(self) -> None:
        self._timer = self._loop.call_later(QUIET_SECONDS, self._break_silence)

    def _break_silence(self) -> None:
        self._comment = self._loop.create_task(self._stream(b": ping\r\n\r\n"))
        self._wait()

    async def _stream(self, part: bytes) -> None:
        async with self._writing:
            if self._over:
                return
            if not self._streaming:
                self._streaming = True
                await self._send({"type": "http.response.start", "status": 200, "headers": list(STREAM)})
            await self._send({"type": "http.response.body", "body": part, "more_body": True})


def _takes_both(head: Mapping[bytes, bytes]) -> bool:
    """Whether the client sends JSON and takes it, or a stream, for an answer, as it has to."""
    accepted, kind = head.get(b"accept", b""), head.get(b"content-type", b"").partition(b";")[0].strip()
    return kind == b"application/json" and b"application/json" in accepted and b"text/event-stream" in accepted


def _request_in(content: bytes) -> McpCall | None:
    try:
        return _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _from_the_start(content: bytes, receive: Receive) -> Receive:
    """A body that was read, for somebody who reads it again."""
    parts: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def again() -> Message:
        return parts.pop() if parts else await receive()

    return again


def _event(message: object) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % msgspec.json.encode(message)
