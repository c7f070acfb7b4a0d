"""The hub as an ASGI application, for any server: uvicorn, hypercorn, or a test that calls it in its own process.

`opened` is for whoever has an event loop: it makes the app and what works beside it, and ends both. `application` is
for a server that only takes an app; it opens with the server's lifespan. Neither has a Unix socket, and neither bounds
how long a request's head may take: that is the part of whatever runs it (see `connections` and `authentication`). The
web page's templates and views are loaded when the first page is asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Receive, Scope, Send

from tallystick.bus.delivery import Bus
from tallystick.hub import feed, registry
from tallystick.hub.hub import Hub
from tallystick.hub.maintenance import DemoRooms, keep_indexed
from tallystick.hub.serving import Serving
from tallystick.kernel.clock import Instant, system_clock
from tallystick.kernel.errors import RouteNotFound, TallyError
from tallystick.server.mcp_http import McpOverHttp
from tallystick.surfaces.http import app as http
from tallystick.surfaces.http import errors, sse
from tallystick.surfaces.http.app import ServicePages
from tallystick.surfaces.http.authentication import FILES, TokenCache
from tallystick.surfaces.http.browser_sessions import HubAddress
from tallystick.surfaces.http.calls import decoded, key_of
from tallystick.surfaces.http.errors import MethodNotAllowed
from tallystick.surfaces.http.logs import Log
from tallystick.surfaces.http.middleware import Allowances, Limits
from tallystick.surfaces.http.request_context import RequestContext, answer, body, context_of, departure

if TYPE_CHECKING:
    from tallystick.surfaces.web.site import Site

CHANGED = b"event: changed\ndata: {}\n\n"
DEMO = "/demo/remove"
SPACED_SECONDS = 0.05
"""Between two signs that something changed, however much does."""


class Pages:
    def __init__(
        self,
        serving: Serving,
        tokens: TokenCache,
        limits: Limits,
        allowances: Allowances,
        demo: DemoRooms | None,
    ) -> None:
        self._serving, self._tokens, self._limits, self._allowances = serving, tokens, limits, allowances
        self._demo = demo
        self._site: Site | None = None
        self._ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = context_of(scope)
        path: str = scope["path"]
        context.operation = "page"
        if path.startswith("/act/"):
            await self._act(context, scope, receive, send)
            return
        if path == DEMO:
            await self._forget_demo(context, scope, send)
            return
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed(f"{path[:100]} takes GET.", allow="GET, HEAD")
        if path == "/live":
            context.operation = "page.live"
            context.visitor.may_see_all()
            await self._live(context, receive, send)
            return
        site = await self._loaded()
        if path.startswith(FILES):
            reply = site.file(path)
        else:
            query = scope["query_string"].decode("latin-1")
            reply = await site.get(context.visitor, path, query, part=b"tally-part" in context.head)
        await _send(send, reply.content, reply.headers)

    async def refuse(self, send: Send, error: TallyError) -> None:
        """Show a refusal as a page."""
        reply = (await self._loaded()).refusal(error)
        await _send(send, reply.content, reply.headers, status=errors.status_of(type(error)))

    def dismiss(self) -> None:
        self._ending.set()

    async def _loaded(self) -> Site:
        if self._site is None:
            self._site = await asyncio.to_thread(self._load)
        return self._site

    def _load(self) -> Site:
        from tallystick.surfaces.web.site import Site

        return Site(self._serving, self._demo)

    async def _act(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed("An action takes POST.", allow="POST")
        # Found before it is counted: what a client makes up must not become a label of the metrics.
        operation = registry.find(scope["path"].removeprefix("/act/")).name
        context.operation = operation
        given = decoded(context, await body(scope, receive, self._limits.body_bytes))
        result = await (await self._loaded()).act(context.visitor, operation, given, key_of(context))
        await answer(send, result.to_json())

    async def _forget_demo(self, context: RequestContext, scope: Scope, send: Send) -> None:
        """What `tally demo --remove` does."""
        context.operation = "page.demo"
        context.visitor.may_manage_all("Deleting the demo's rooms")
        if scope["method"] != "POST":
            raise MethodNotAllowed(f"{DEMO} takes POST.", allow="POST")
        demo = self._demo
        if demo is None or not await asyncio.to_thread(lambda: demo.there):
            raise RouteNotFound("There is no demo to delete.", hint="Load the page again: somebody else deleted it.")
        await self._serving.read(lambda: demo.remove(self._serving.hub))
        await answer(send, b'{"ok":true}')

    async def _live(self, context: RequestContext, receive: Receive, send: Send) -> None:
        """Say `changed` whenever any room has a new event, until the reader leaves or the hub stops."""
        with (
            self._allowances.stream(context.visitor.caller.agent_id),
            self._tokens.until_revoked(context.visitor) as revoked,
            self._serving.feeds.listen(feed.EVERY_ROOM) as wake,
        ):
            await send({"type": "http.response.start", "status": 200, "headers": sse.HEADERS})
            await _put(send, sse.OPENING)
            reasons = (_tell(send, wake), departure(receive, revoked), self._ending.wait())
            everything: list[asyncio.Task[Any]] = [asyncio.ensure_future(reason) for reason in reasons]
            try:
                await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in everything:
                    task.cancel()
                await asyncio.gather(*everything, return_exceptions=True)
            with suppress(OSError):
                await send({"type": "http.response.body", "body": b""})


async def _tell(send: Send, wake: feed.Wake) -> None:
    while True:
        rung = await wake.wait(feed.QUIET_SECONDS)
        await _put(send, CHANGED if rung else sse.KEEP_ALIVE)
        await asyncio.sleep(SPACED_SECONDS if rung else 0)


async def _put(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def _send(send: Send, content: bytes, headers: Mapping[str, str], *, status: int = 200) -> None:
    kind, *more = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await answer(send, content, *more, status=status, kind=kind)


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
    demo: DemoRooms | None,
) -> App:
    tokens, allowances = TokenCache(serving), Allowances(limits)
    mcp = McpOverHttp(serving, tokens, limits, allowances)
    pages = Pages(serving, tokens, limits, allowances, demo)
    asgi, service_pages = http.build(
        serving,
        bus,
        http.Mounts(
            exact={"/mcp": mcp, **dict.fromkeys(("/", "/live", "/search", "/palette", "/waiting", DEMO), pages)},
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
    demo: DemoRooms | None = None,
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
            demo=demo,
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
