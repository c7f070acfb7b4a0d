"""The whole ASGI application of a hub: the HTTP surface with MCP, the bus and the page mounted on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp

from tallystick.bus.dispatcher import Bus
from tallystick.hub.serving import Serving
from tallystick.kernel.clock import Instant
from tallystick.server.mcp_http import McpOverHttp
from tallystick.server.pages import Pages
from tallystick.surfaces.http import app as http
from tallystick.surfaces.http.authentication import HubAddress, TokenCache
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
    mcp = McpOverHttp(serving, limits)
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
