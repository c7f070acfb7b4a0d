"""The routes, and everything that stands before them, put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.routing import Route, Router
from starlette.types import ASGIApp

from tallystick.hub.serving import Serving
from tallystick.kernel.clock import Instant
from tallystick.surfaces.http.calls import Calls
from tallystick.surfaces.http.desk import Desk, Page
from tallystick.surfaces.http.door import Address, Door
from tallystick.surfaces.http.front import Front
from tallystick.surfaces.http.keyring import Keyring, Links
from tallystick.surfaces.http.limits import Allowances, Limits
from tallystick.surfaces.http.logs import Log
from tallystick.surfaces.http.mcp_mount import Mcp
from tallystick.surfaces.http.metrics import Metrics
from tallystick.surfaces.http.stream import Stream
from tallystick.surfaces.http.uploads import Get, Put


@dataclass(frozen=True, kw_only=True)
class App:
    front: ASGIApp
    desk: Desk
    keyring: Keyring
    mcp: Mcp

    def dismiss(self) -> None:
        """The end is near: let go of whoever would stay for ever."""
        self.desk.serving.dismiss()
        self.mcp.dismiss()


def build(
    serving: Serving,
    *,
    address: Address,
    limits: Limits,
    log: Log,
    started_at: Instant,
    connections: Callable[[], int],
) -> App:
    keyring, metrics, allowances = Keyring(serving), Metrics(serving), Allowances(limits)
    door = Door(address, keyring)
    desk = Desk(
        serving=serving,
        metrics=metrics,
        links=Links(),
        address=address,
        started_at=started_at,
        connections=connections,
    )
    mcp = Mcp(serving, limits)
    calls = Calls(serving, keyring, limits, allowances)
    router = Router(
        routes=[
            Route("/v1/events", Stream(serving, keyring, allowances)),
            Route("/v1/blobs.put", Put(serving, calls)),
            Route("/v1/blobs/{sha256}", Get(serving)),
            Route("/v1/openapi.json", Page(desk.description)),
            Route("/v1/status", Page(desk.status)),
            Route("/v1/{operation}", calls),
            Route("/healthz", Page(desk.health)),
            Route("/metrics", Page(desk.measures)),
            Route("/login", Page(desk.login)),
            Route("/mcp", mcp),
        ],
        default=Page(desk.nowhere),
        redirect_slashes=False,
    )
    front = Front(router, door=door, allowances=allowances, metrics=metrics, log=log)
    return App(front=front, desk=desk, keyring=keyring, mcp=mcp)
