"""`/mcp`: the MCP surface over streamable HTTP.

Each request stands alone and says who is calling, like any other: by token, or by the process at the socket's end. The
SDK takes longer to import than all the rest of the hub, so nothing here may load it but `_load`, in a thread: for the
first who asks, or once the hub has settled.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from msgspec import structs
from starlette.types import ASGIApp, Receive, Scope, Send

from tallystick.harnesses import identity
from tallystick.hub.serving import Serving
from tallystick.hub.tokens import TokenInvalid
from tallystick.hub.visitor import Visitor
from tallystick.surfaces.http import authentication
from tallystick.surfaces.http.authentication import TokenCache
from tallystick.surfaces.http.middleware import Allowances, Limits
from tallystick.surfaces.http.request_context import context_of

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.requests import Request

    from tallystick.surfaces.mcp.server import McpRequest

SETTLED_S = 30.0
"""After so long nobody waits any more for what a hub is started for, and a hub that only comes and goes has gone."""


class McpOverHttp:
    def __init__(self, serving: Serving, tokens: TokenCache, limits: Limits, allowances: Allowances) -> None:
        self._serving, self._tokens, self._limits, self._allowances = serving, tokens, limits, allowances
        self._ready: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
        self._wanted = asyncio.Event()
        self._listening: set[asyncio.Task[Any]] = set()
        self._ending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = context_of(scope)
        context.operation = "mcp"
        self._wanted.set()
        serve = await asyncio.shield(self._ready)
        try:
            with (
                self._allowances.stream(context.visitor.caller.agent_id),
                self._tokens.cancelled_when_revoked(context.visitor),
            ):
                await self._serve(serve, scope, receive, send)
        except TokenInvalid:
            if not context.status:
                raise
            # Too late for a refusal: what was begun ends here.
            await send({"type": "http.response.body", "body": b""})

    async def _serve(self, serve: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await serve(scope, receive, send)
            return
        # Whoever listens only for what the server may want to say would keep a hub from stopping.
        task = asyncio.ensure_future(cast("Any", serve(scope, receive, send)))
        self._listening.add(task)
        try:
            await task
        except asyncio.CancelledError:
            if not self._ending:
                raise
        finally:
            self._listening.discard(task)

    async def run(self) -> None:
        """Serve until cancelled."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wanted.wait(), SETTLED_S)
        manager, requests = await asyncio.to_thread(self._load)
        async with manager.run():
            self._ready.set_result(requests)
            await asyncio.Event().wait()

    def dismiss(self) -> None:
        self._ending = True
        for task in self._listening:
            task.cancel()

    def _load(self) -> tuple[StreamableHTTPSessionManager, ASGIApp]:
        """The SDK's transport, and what stands before it."""
        # The whole package first: two threads that enter its import cycles from different ends would deadlock.
        import mcp as _  # noqa: F401
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from tallystick.server.mcp_request import McpRequests
        from tallystick.surfaces.mcp.server import build_server

        server, limit = build_server(_HttpClient(self._serving)), self._limits.body_bytes
        manager = StreamableHTTPSessionManager(server, stateless=True, json_response=False, max_request_body_size=limit)
        return manager, McpRequests(server, limit, others=manager.asgi_app)


class _HttpClient:
    """Whoever sent the request: by its token, or by the process at the socket's end."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def visitor(self, request: McpRequest) -> Visitor:
        scope = _scope(request)
        visitor, peer = context_of(scope).visitor, authentication.peer_of(scope)
        if peer is None:
            return visitor
        agent = context_of(scope).head.get(b"tally-agent", b"").decode("utf-8", "replace") or None
        client = request.session.client_params
        name = client.client_info.name if client else None
        told = identity.told_with_call(name, request.meta or {}, peer.seen.environ)
        return structs.replace(visitor, caller=peer.caller(agent, surface="mcp", client_name=name, told=told))

    def workspace(self, request: McpRequest) -> str | None:
        """Where a process on this machine works; what is elsewhere has to say so."""
        peer = authentication.peer_of(_scope(request))
        return peer.folder if peer else None

    async def serving(self) -> Serving:
        return self._serving

    def named(self, name: str) -> None:
        """Each request stands alone, so a name that was chosen in one is not kept for the next."""


def _scope(request: McpRequest) -> Scope:
    return cast("Request", request.request).scope
