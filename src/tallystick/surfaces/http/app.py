"""The routes, and everything that stands before them, put together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tallystick.bus.dispatcher import Bus
from tallystick.hub import registry
from tallystick.hub.serving import Serving
from tallystick.kernel.clock import Instant
from tallystick.kernel.errors import TallyError
from tallystick.surfaces.http.authentication import Address, Door, Keyring, Links
from tallystick.surfaces.http.bus import BusFace
from tallystick.surfaces.http.calls import Calls
from tallystick.surfaces.http.logs import Log
from tallystick.surfaces.http.metrics import Metrics
from tallystick.surfaces.http.middleware import Allowances, Front, Limits
from tallystick.surfaces.http.sse import Stream
from tallystick.surfaces.http.static_pages import Desk, Page
from tallystick.surfaces.http.uploads import Get, Put


class Switch:
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
    keyring: Keyring,
    allowances: Allowances,
    address: Address,
    limits: Limits,
    log: Log,
    started_at: Instant,
    connections: Callable[[], int],
) -> tuple[ASGIApp, Desk]:
    metrics = Metrics(serving)
    desk = Desk(
        serving=serving,
        metrics=metrics,
        links=Links(),
        address=address,
        started_at=started_at,
        connections=connections,
    )
    face = BusFace(bus, keyring, allowances)
    calls = Calls(serving, keyring, limits, allowances)
    switch = Switch(
        exact={
            **{f"/v1/{name}": calls for name in registry.OPERATIONS},
            "/v1/blobs.put": Put(serving, calls),
            "/v1/events": Stream(serving, keyring, allowances),
            "/v1/bus": face.post,
            "/v1/bus/stream": face.stream,
            "/v1/openapi.json": Page(desk.description),
            "/v1/status": Page(desk.status),
            "/healthz": Page(desk.health),
            "/metrics": Page(desk.measures),
            "/login": Page(desk.login),
            **mounts.exact,
        },
        others=Router(
            routes=[
                Route("/v1/blobs/{sha256}", Get(serving)),
                Route("/v1/{operation}", calls),
                *(Mount(path, app) for path, app in mounts.below.items()),
            ],
            default=Page(desk.nowhere),
            redirect_slashes=False,
        ),
    )
    door = Door(address, keyring)
    return Front(switch, door=door, allowances=allowances, metrics=metrics, log=log, page=mounts.refuse), desk
