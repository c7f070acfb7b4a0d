"""The hub as an ASGI application, for any server: uvicorn, hypercorn, or a test that calls it in its own process.

`opened` is for whoever has an event loop: it makes the app and what works beside it, and ends both. `application` is
for a server that only takes an app; it opens with the server's lifespan. Neither has a Unix socket, and neither bounds
how long a request's head may take: that is the part of whatever runs it (see `connection` and `peers`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from tallystick.bus.delivery import Bus
from tallystick.hub.hub import Hub
from tallystick.hub.maintenance import keep_indexed
from tallystick.hub.serving import Serving
from tallystick.kernel.clock import Instant, system_clock
from tallystick.server.mcp_http import McpOverHttp
from tallystick.server.pages import Pages
from tallystick.surfaces.http import app as http
from tallystick.surfaces.http import sse
from tallystick.surfaces.http.authentication import TokenCache
from tallystick.surfaces.http.browser_sessions import HubAddress
from tallystick.surfaces.http.logs import Log
from tallystick.surfaces.http.middleware import Allowances, Limits
from tallystick.surfaces.http.service_pages import ServicePages


@dataclass(frozen=True, kw_only=True)
class App:
    asgi: ASGIApp
    service_pages: ServicePages
    tokens: TokenCache
    mcp: McpOverHttp
    bus: Bus
    pages: Pages

    def dismiss(self) -> None:
        """The end is near: let go of whoever would stay for ever."""
        self.service_pages.serving.dismiss()
        self.bus.dismiss()
        self.mcp.dismiss()
        self.pages.dismiss()


def build(
    serving: Serving,
    bus: Bus,
    *,
    address: HubAddress,
    limits: Limits,
    log: Log,
    started_at: Instant,
    connections: Callable[[], int],
) -> App:
    tokens, allowances = TokenCache(serving), Allowances(limits)
    mcp = McpOverHttp(serving, tokens, limits, allowances)
    pages = Pages(serving, tokens, limits, allowances)
    asgi, service_pages = http.build(
        serving,
        bus,
        http.Mounts(
            exact={"/mcp": mcp, "/": pages, "/live": pages},
            below={"/rooms": pages, "/static": pages, "/act": pages},
            refuse=pages.refuse,
        ),
        tokens=tokens,
        allowances=allowances,
        address=address,
        limits=limits,
        log=log,
        started_at=started_at,
        connections=connections,
    )
    return App(asgi=asgi, service_pages=service_pages, tokens=tokens, mcp=mcp, bus=bus, pages=pages)


@asynccontextmanager
async def opened(
    hub: Hub,
    *,
    log: Log,
    address: HubAddress,
    limits: Limits | None = None,
    connections: Callable[[], int] = lambda: 0,
) -> AsyncGenerator[App]:
    """The app of a hub that was opened with `grouped=True`, which stays open; serve its `asgi`."""
    serving = Serving(hub, sse.event)
    bus = Bus(serving)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(serving.close)
        stack.push_async_callback(bus.close)
        built = build(
            serving,
            bus,
            address=address,
            limits=limits or Limits(),
            log=log,
            started_at=system_clock(),
            connections=connections,
        )
        for work in (built.tokens.watch(), built.mcp.run(), log.keep_flushing(), keep_indexed(serving)):
            await stack.enter_async_context(beside(work))
        stack.callback(built.dismiss)
        yield built


def application(hub: Hub, *, log: Log, address: HubAddress, limits: Limits | None = None) -> ASGIApp:
    """The same for a server that opens and closes it with its lifespan."""
    return _Application(lambda: opened(hub, log=log, address=address, limits=limits))


class _Application:
    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[App]]) -> None:
        self._opening = opening
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        elif self._app is None:
            raise RuntimeError("The server has to run the app's lifespan; with uvicorn that is lifespan='on'.")
        else:
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._opening() as opened:
            self._app = opened.asgi
            await send({"type": "lifespan.startup.complete"})
            await receive()
        self._app = None
        await send({"type": "lifespan.shutdown.complete"})


@asynccontextmanager
async def beside(work: Coroutine[object, object, None]) -> AsyncGenerator[None]:
    """Work that goes on beside the requests until the end; should it fail, the log says why."""
    task = asyncio.ensure_future(work)

    def done(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (failed := task.exception()):
            logging.getLogger("tallystick.http").error("a background task failed", exc_info=failed)

    task.add_done_callback(done)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
