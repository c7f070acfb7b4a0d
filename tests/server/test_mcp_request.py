"""One MCP request in one HTTP request: plain JSON where that does, a stream where there is more to say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, TextContent
from starlette.types import Message, Receive, Scope, Send

from tallystick.kernel.errors import TooLarge
from tallystick.server import mcp_request
from tallystick.server.mcp_request import McpRequests
from tallystick.surfaces.http.request_context import ClientGone, RequestContext

JSON = b"application/json"
HEAD = {
    b"content-type": JSON,
    b"accept": b"application/json, text/event-stream",
    b"mcp-protocol-version": b"2025-11-25",
}
CALL: Mapping[str, object] = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "look"}}
DONE = {"content": [{"text": "done", "type": "text"}], "isError": False}
LIMIT = 1000

Context = ServerRequestContext[None, Any]
Tool = Callable[[Context], Awaitable[None]]


@dataclass
class Post:
    """A POST as an ASGI server hands it over; its client stays until it is told to leave."""

    tool: Tool
    content: bytes = json.dumps(CALL).encode()
    head: Mapping[bytes, bytes] = field(default_factory=lambda: HEAD)
    method: str = "POST"
    sent: list[Message] = field(default_factory=list[Message])
    handed_on: list[bytes] = field(default_factory=list[bytes])
    """The bodies that the SDK's own transport was given."""

    def __post_init__(self) -> None:
        self._unread = [self.content]
        self._left = asyncio.Event()
        self.sent_often = asyncio.Event()

    def play(self) -> None:
        asyncio.run(self._play())

    def leave(self) -> None:
        self._left.set()

    async def _play(self) -> None:
        async def call(context: Context, _params: CallToolRequestParams) -> CallToolResult:
            await self.tool(context)
            return CallToolResult(content=[TextContent(text="done")])

        server: Server[Any] = Server("test", on_call_tool=call)
        visit = RequestContext(id="1", head=dict(self.head))
        head: Scope = {"type": "http", "method": self.method, "path": "/mcp", "headers": []}
        scope: Scope = {**head, "state": {"context": visit}}
        await McpRequests(server, LIMIT, others=self._others)(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        if self._unread:
            return {"type": "http.request", "body": self._unread.pop(), "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)
        if len(self.sent) == len(["the start", "a part", "another"]):
            self.sent_often.set()

    async def _others(self, _scope: Scope, receive: Receive, _send: Send) -> None:
        self.handed_on.append((await receive())["body"])

    @property
    def kind(self) -> bytes:
        return dict(cast("list[tuple[bytes, bytes]]", self.sent[0]["headers"]))[b"content-type"]

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.sent[1:]]

    @property
    def answer(self) -> object:
        (body,) = self.bodies
        return json.loads(body)


async def nothing(_context: Context) -> None:
    pass


def event(**message: object) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % json.dumps(message, separators=(",", ":")).encode()


def test_an_answer_is_plain_json() -> None:
    post = Post(nothing)
    post.play()
    assert (post.kind, post.answer) == (JSON, {"jsonrpc": "2.0", "id": 7, "result": DONE})


def test_progress_that_a_client_asked_for_makes_the_answer_a_stream() -> None:
    async def work(context: Context) -> None:
        await context.session.report_progress(1, 2)

    params = {"name": "look", "_meta": {"progressToken": "p"}}
    post = Post(work, json.dumps({**CALL, "params": params}).encode())
    post.play()
    progress = {"progressToken": "p", "progress": 1, "total": 2}
    assert (post.kind, post.bodies) == (
        b"text/event-stream",
        [
            event(jsonrpc="2.0", method="notifications/progress", params=progress),
            event(jsonrpc="2.0", id=7, result=DONE),
        ],
    )
    assert [bool(message.get("more_body")) for message in post.sent[1:]] == [True, False]


def test_progress_that_nobody_asked_for_is_not_told() -> None:
    async def work(context: Context) -> None:
        await context.session.report_progress(1, 2)

    post = Post(work)
    post.play()
    assert (post.kind, post.answer) == (JSON, {"jsonrpc": "2.0", "id": 7, "result": DONE})


def test_an_answer_that_takes_long_shows_that_it_is_still_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_request, "QUIET_SECONDS", 0)

    async def work(_context: Context) -> None:
        await post.sent_often.wait()

    post = Post(work)
    post.play()
    assert post.kind == b"text/event-stream"
    assert post.bodies[:2] == [b": ping\r\n\r\n"] * 2
    assert post.bodies[-1] == event(jsonrpc="2.0", id=7, result=DONE)


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (MCPError(code=-32602, message="no such tool"), {"code": -32602, "message": "no such tool"}),
        (ZeroDivisionError("a secret"), {"code": -32603, "message": "Internal server error"}),
    ],
)
def test_what_a_handler_fails_with_is_an_answer(failure: Exception, error: object) -> None:
    async def work(_context: Context) -> None:
        raise failure

    post = Post(work)
    post.play()
    assert post.answer == {"jsonrpc": "2.0", "id": 7, "error": error}


def test_a_client_that_leaves_ends_the_work_for_it() -> None:
    ended: list[str] = []

    async def work(_context: Context) -> None:
        post.leave()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    post = Post(work)
    with pytest.raises(ClientGone):
        post.play()
    assert (ended, post.sent) == (["cancelled"], [])


@pytest.mark.parametrize(
    ("content", "head", "method"),
    [
        (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', {}, "POST"),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', {}, "POST"),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', {}, "POST"),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', {}, "POST"),
        (b"no JSON", {}, "POST"),
        (b"\xff", {}, "POST"),
        (json.dumps(CALL).encode(), {b"accept": JSON}, "POST"),
        (json.dumps(CALL).encode(), {b"content-type": b"text/plain"}, "POST"),
        (json.dumps(CALL).encode(), {b"mcp-protocol-version": b"2026-07-28"}, "POST"),
        (b"", {}, "GET"),
        (b"", {}, "DELETE"),
    ],
)
def test_everything_else_is_left_to_the_sdk(content: bytes, head: Mapping[bytes, bytes], method: str) -> None:
    post = Post(nothing, content, {**HEAD, **head}, method)
    post.play()
    assert (post.handed_on, post.sent) == ([content], [])


def test_a_body_beyond_the_limit_is_refused() -> None:
    with pytest.raises(TooLarge):
        Post(nothing, b" " * (LIMIT + 1)).play()
