"""`tally mcp`: the MCP server that a harness starts for itself, over standard input and output.

The store is opened by the first call that needs it, so a harness gets its server up in any case and every call can say
what is wrong. Who is calling comes from the process tree, never from the connection.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tallystick.surfaces.mcp.shim import TOOLS

if TYPE_CHECKING:
    from tallystick.hub.serving import Serving
    from tallystick.surfaces.mcp.server import Tools


def main(*, called: str | None = None) -> None:
    """`called` is the name that the caller had given itself before this server took over from another."""
    tools = cast("Tools", os.environ.get(TOOLS) or "daily")
    # A reader blocks in a thread that only the end of its input can wake. Nothing acknowledged is lost by dying here.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tally mcp: %(levelname)s %(message)s")
    serve(tools, called)


def serve(tools: Tools, called: str | None = None) -> None:
    """Serve until standard input ends."""
    # Late, so that --help costs nothing. What is loaded stays, so the collector need not look at it.
    gc.disable()
    import anyio
    from mcp.server.stdio import stdio_server

    from tallystick.surfaces.mcp.server import ProcessClient, Screened, build_server

    gc.enable()
    gc.freeze()

    async def run() -> None:
        own = _OwnHub()
        client = ProcessClient(own.serving, pid=os.getpid(), environ=os.environ, folder=_folder, called=called)
        server = build_server(client, tools)
        try:
            async with stdio_server() as (incoming, outgoing):
                await server.run(Screened(incoming, outgoing), outgoing, server.create_initialization_options())
        finally:
            await own.close()

    try:
        anyio.run(run)
    except* BrokenPipeError:
        pass  # The client is gone, and with it the only one to tell.


class _OwnHub:
    """The hub that this process opens for itself, at the first call that needs it."""

    def __init__(self) -> None:
        self._opening = asyncio.Lock()
        self._serving: Serving | None = None

    async def serving(self) -> Serving:
        async with self._opening:
            if self._serving is None:
                self._serving = await self._opened()
            return self._serving

    async def _opened(self) -> Serving:
        from tallystick.hub.hub import Hub
        from tallystick.hub.serving import Serving
        from tallystick.hub.settings import Settings

        hub = await asyncio.to_thread(lambda: Hub.open(Settings.of(), grouped=True))
        return Serving(hub, lambda _event: b"")

    async def close(self) -> None:
        if self._serving:
            self._serving.dismiss()
            await self._serving.close()
            self._serving.hub.close()


def _folder() -> str | None:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None  # The folder was removed under us.
