"""`/mcp`: the MCP surface over streamable HTTP. It is found by name, since surfaces do not import each other.

Each request stands alone and says who is calling, like any other: by token, or by the process at the socket's end. The
SDK is slow to import, so that happens behind the hub's back: for the first who asks, or once the hub has settled.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from starlette.types import ASGIApp, Receive, Scope, Send

from tallystick.hub import notices, registry
from tallystick.hub.hub import Interest
from tallystick.hub.serving import Serving
from tallystick.hub.tokens_reach import Visitor, permit
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Answer
from tallystick.surfaces.http import peers
from tallystick.surfaces.http.limits import Limits
from tallystick.surfaces.http.visit import visit_of

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

SURFACE = "tallystick.surfaces.mcp.server"
SETTLED_S = 5.0
"""After so long nobody waits any more for what a hub is started for, and a hub that only comes and goes has gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest(Caller):
    """A caller that brings its reach along."""

    visitor: Visitor


class Mcp:
    def __init__(self, serving: Serving, limits: Limits) -> None:
        self._serving, self._limits = serving, limits
        self._ready: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
        self._wanted = asyncio.Event()
        self._listening: set[asyncio.Task[Any]] = set()
        self._ending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit_of(scope).operation = "mcp"
        self._wanted.set()
        app = await asyncio.shield(self._ready)
        if scope["method"] != "GET":
            await app(scope, receive, send)
            return
        # Whoever listens only for what the server may want to say would keep a hub from stopping.
        task = asyncio.ensure_future(cast("Any", app(scope, receive, send)))
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
        manager = await asyncio.to_thread(self._manager)
        async with manager.run():
            self._ready.set_result(manager.asgi_app)
            await asyncio.Event().wait()

    def dismiss(self) -> None:
        self._ending = True
        for task in self._listening:
            task.cancel()

    def _manager(self) -> StreamableHTTPSessionManager:
        # The whole package first: two threads that come to its circles from different ends would wait for each other.
        importlib.import_module("mcp")
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        server = importlib.import_module(SURFACE).build_server(self)
        return StreamableHTTPSessionManager(
            server, stateless=True, json_response=False, max_request_body_size=self._limits.body_bytes
        )

    def caller(self, request: ServerRequestContext[Any, Any]) -> Caller:
        scope = cast("Any", request.request).scope
        visitor = visit_of(scope).visitor
        caller = visitor.caller
        if peer := peers.of(scope):
            agent = visit_of(scope).head.get(b"tally-agent", b"").decode("utf-8", "replace") or None
            client = request.session.client_params
            name = client.client_info.name if client else None
            caller = peer.caller(agent, surface="mcp", client_name=name)
        return Guest(**{field.name: getattr(caller, field.name) for field in fields(caller)}, visitor=visitor)

    def workspace(self, request: ServerRequestContext[Any, Any]) -> str | None:
        """Where a process on this machine works; what is elsewhere has to say so."""
        peer = peers.of(cast("Any", request.request).scope)
        return peer.folder if peer else None

    def call(
        self,
        name: str,
        given: Mapping[str, object],
        caller: Caller,
        interest: Interest | None = None,
        *,
        key: str | None = None,
    ) -> Answer:
        permit(cast("Guest", caller).visitor, registry.find(name), given)
        return self._serving.hub.call(name, given, caller, _Until(interest, self), key=key)

    def notices(self, name: str, given: Mapping[str, object], answer: Answer, caller: Caller) -> Sequence[str]:
        return notices.after(self._serving.hub, name, given, answer, caller)

    @property
    def ending(self) -> bool:
        return self._ending


class _Until:
    """Ends a wait when the caller left or the hub is about to stop."""

    def __init__(self, interest: Interest | None, mcp: Mcp) -> None:
        self._interest, self._mcp = interest, mcp

    def stopped(self) -> bool:
        return self._mcp.ending or (self._interest is not None and self._interest.stopped())

    def waiting(self, elapsed: float, total: float) -> None:
        if self._interest:
            self._interest.waiting(elapsed, total)
