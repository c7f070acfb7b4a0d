"""The routes, and everything that stands before them, put together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tallystick.bus.delivery import Bus
from tallystick.hub import registry
from tallystick.hub.serving import Serving
from tallystick.kernel.clock import Instant
from tallystick.kernel.errors import TallyError
from tallystick.surfaces.http.authentication import Authenticator, TokenCache
from tallystick.surfaces.http.browser_sessions import HubAddress, SignInLinks
from tallystick.surfaces.http.bus import BusOverHttp
from tallystick.surfaces.http.calls import Calls
from tallystick.surfaces.http.logs import Log
from tallystick.surfaces.http.metrics import Metrics
from tallystick.surfaces.http.middleware import Allowances, Limits, RequestMiddleware
from tallystick.surfaces.http.service_pages import HandlerApp, ServicePages
from tallystick.surfaces.http.sse import EventStream
from tallystick.surfaces.http.uploads import BlobDownload, BlobUpload


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
