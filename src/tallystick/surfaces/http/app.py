"""The routes, and everything that stands before them, put together.

The few addresses that are no operations are answered here: health, metrics, status, the API's description and the
browser's way in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs

import msgspec
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tallystick import __version__
from tallystick.bus.delivery import Bus
from tallystick.hub import registry, tokens
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.errors import RouteNotFound, TallyError
from tallystick.surfaces.http import metrics, openapi
from tallystick.surfaces.http.authentication import Authenticator, TokenCache
from tallystick.surfaces.http.browser_sessions import HubAddress, SignInLinks, browser_session, hop
from tallystick.surfaces.http.bus import BusOverHttp
from tallystick.surfaces.http.calls import BlobDownload, BlobUpload, Calls
from tallystick.surfaces.http.errors import MethodNotAllowed
from tallystick.surfaces.http.logs import Log
from tallystick.surfaces.http.metrics import Metrics
from tallystick.surfaces.http.middleware import Allowances, Limits, RequestMiddleware
from tallystick.surfaces.http.request_context import answer, context_of
from tallystick.surfaces.http.sse import EventStream

HEALTH_SECONDS = 1.0
HTML = (b"content-type", b"text/html; charset=utf-8")

# A page that moves on by itself, not a redirect: after a redirect from somebody else's page a strict cookie stays home.
_WELCOME = b'<!doctype html><title>Tallystick</title><meta http-equiv="refresh" content="0;url=/"><a href="/">Go on</a>'
_ANYBODY = Visitor(caller=Caller(agent_id="system", session=SessionKind.NAMED))


class HandlerApp:
    """A handler as an application of its own, whatever the method."""

    def __init__(self, handle: Callable[[Scope, Send], Awaitable[None]]) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        await self._handle(scope, send)


@dataclass(frozen=True, kw_only=True)
class ServicePages:
    serving: Serving
    metrics: Metrics
    links: SignInLinks
    address: HubAddress
    started_at: Instant
    connections: Callable[[], int]
    bus_connections: Callable[[], int]

    async def health(self, scope: Scope, send: Send) -> None:
        """Whether the store can be read, and soon; nothing more, since anybody may ask."""
        _named(scope, "healthz")
        try:
            async with asyncio.timeout(HEALTH_SECONDS):
                await self.serving.call(_ANYBODY, "hub.health", {})
        except (TallyError, TimeoutError):
            await answer(send, b'{"ok":false}', status=503)
        else:
            # Pages of other origins may ask: the one that lets a person in does.
            await answer(send, b'{"ok":true}', (b"cross-origin-resource-policy", b"cross-origin"))

    async def measures(self, scope: Scope, send: Send) -> None:
        _named(scope, "metrics")
        context_of(scope).visitor.may_see_all()
        await answer(send, self.metrics.text(), kind=(b"content-type", metrics.TYPE))

    async def status(self, scope: Scope, send: Send) -> None:
        """What `tally status` shows; with a fresh link for the browser for those who own the hub anyway."""
        _named(scope, "status")
        visitor = context_of(scope).visitor
        visitor.may_see_all()
        health = await self.serving.call(visitor, "hub.health", {})
        facts: dict[str, object] = {
            "version": __version__,
            "url": self.address.url,
            "started_at": to_wire(self.started_at),
            "rooms": health.to_data()["rooms"],
            "connections": self.connections(),
            "bus_connections": self.bus_connections(),
            "followers": self.serving.feeds.followers,
            "waits": self.serving.waits,
        }
        if visitor.trusted:
            facts["login"] = self.link()
        await answer(send, msgspec.json.encode(facts))

    async def description(self, scope: Scope, send: Send) -> None:
        _named(scope, "openapi")
        await answer(send, await self.serving.read(lambda: openapi.document(self.address.cookie)))

    async def login(self, scope: Scope, send: Send) -> None:
        """Turn a one-time link into a session cookie at the page's own name, and go to the page."""
        _named(scope, "login", "GET")
        code = parse_qs(scope["query_string"].decode("latin-1")).get("code", [""])[0]
        if page := self.address.page_at(context_of(scope).head):
            if not self.links.used(code):
                self.links.check(code)
            text, policy = hop(page, code)
            await answer(send, text, (b"content-security-policy", policy), kind=HTML)
            return
        if self.links.used(code):
            # The cookie did not come along from the other name: the page itself says whether there is a session.
            await answer(send, _WELCOME, kind=HTML)
            return
        self.links.use(code)
        cookie = self.address.set_cookie(await browser_session(self.serving))
        await answer(send, _WELCOME, (b"set-cookie", cookie), kind=HTML)

    async def logout(self, scope: Scope, send: Send) -> None:
        """End the session of the browser that asks, here and in the store."""
        _named(scope, "logout", "POST")
        context = context_of(scope)
        if self.address.secret_in_cookie(context.head) is None:
            raise RouteNotFound("Only a browser that is signed in signs out; `tally token revoke` ends a token.")
        await self.serving.read(lambda: tokens.revoke(self.serving.hub, context.visitor.token_id))
        await answer(send, b'{"ok":true}', (b"set-cookie", self.address.forget_cookie()))

    async def nowhere(self, scope: Scope, _send: Send) -> None:
        raise RouteNotFound(f"There is nothing at {scope['path'][:100]}.")

    def link(self) -> str:
        return f"{self.address.url}/login?code={self.links.new()}"


def _named(scope: Scope, name: str, *methods: str) -> None:
    context_of(scope).operation = name
    allowed = methods or ("GET", "HEAD")
    if scope["method"] not in allowed:
        raise MethodNotAllowed(f"{scope['path']} takes {', '.join(allowed)}.", allow=", ".join(allowed))


class ExactRoutes:
    """Finds most addresses in one step; only the rest are matched one by one."""

    def __init__(self, *, exact: Mapping[str, ASGIApp], others: ASGIApp) -> None:
        self._exact, self._others = exact, others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._exact.get(scope["path"], self._others)(scope, receive, send)


@dataclass(frozen=True, kw_only=True)
class Mounts:
    """What other surfaces serve over HTTP; the composition root brings it, since surfaces do not know each other."""

    exact: Mapping[str, ASGIApp]
    below: Mapping[str, ASGIApp]
    """For every address that begins so."""
    refuse: Callable[[Send, TallyError], Awaitable[None]]
    """Shows a refusal to a person who asked for a page."""


def build(
    serving: Serving,
    bus: Bus,
    mounts: Mounts,
    *,
    tokens: TokenCache,
    allowances: Allowances,
    address: HubAddress,
    limits: Limits,
    log: Log,
    started_at: Instant,
    connections: Callable[[], int],
) -> tuple[ASGIApp, ServicePages]:
    metrics = Metrics(serving)
    service_pages = ServicePages(
        serving=serving,
        metrics=metrics,
        links=SignInLinks(),
        address=address,
        started_at=started_at,
        connections=connections,
        bus_connections=lambda: bus.connections,
    )
    face = BusOverHttp(bus, tokens, allowances)
    calls = Calls(serving, tokens, limits, allowances)
    switch = ExactRoutes(
        exact={
            **{f"/v1/{name}": calls for name in registry.OPERATIONS},
            "/v1/blobs.put": BlobUpload(serving, calls),
            "/v1/events": EventStream(serving, tokens, allowances),
            "/v1/bus": face.post,
            "/v1/bus/stream": face.stream,
            "/v1/openapi.json": HandlerApp(service_pages.description),
            "/v1/status": HandlerApp(service_pages.status),
            "/healthz": HandlerApp(service_pages.health),
            "/metrics": HandlerApp(service_pages.measures),
            "/login": HandlerApp(service_pages.login),
            "/logout": HandlerApp(service_pages.logout),
            **mounts.exact,
        },
        others=Router(
            routes=[
                Route("/v1/blobs/{sha256}", BlobDownload(serving)),
                Route("/v1/{operation}", calls),
                *(Mount(path, app) for path, app in mounts.below.items()),
            ],
            default=HandlerApp(service_pages.nowhere),
            redirect_slashes=False,
        ),
    )
    authenticator = Authenticator(address, tokens)
    return RequestMiddleware(
        switch, authenticator=authenticator, allowances=allowances, metrics=metrics, log=log, page=mounts.refuse
    ), service_pages
