"""`tally mcp`: the MCP server that a harness starts for itself, over standard input and output.

The store is opened by the first call that needs it, so a harness gets its server up in any case and every call can say
what is wrong. Who is calling comes from the process tree, never from the connection.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tallystick.hub.hub import Hub
    from tallystick.kernel.caller import Caller
    from tallystick.kernel.operation import Answer
    from tallystick.surfaces.mcp.calls import Request
    from tallystick.surfaces.mcp.server import Tools
    from tallystick.surfaces.mcp.workers import Attention

VARIABLE = "TALLYSTICK_MCP_TOOLS"
_SETS: Sequence[Tools] = ("core", "daily", "full")


def main(argv: Sequence[str] | None = None) -> int:
    tools = _tools(argv)
    # A reader blocks in a thread that only the end of its input can wake. Nothing acknowledged is lost by dying here.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tally mcp: %(levelname)s %(message)s")
    serve(tools)
    return 0


def _tools(argv: Sequence[str] | None) -> Tools:
    parser = argparse.ArgumentParser(
        prog="tally mcp", description="Serve Tallystick to a coding agent over MCP on standard input and output."
    )
    parser.add_argument(
        "--tools",
        metavar="|".join(_SETS),
        default=os.environ.get(VARIABLE) or "daily",
        help="core: the nine tools of the stick; daily: those and one portal per noun; full: everything by name"
        f" (default: daily, or ${VARIABLE})",
    )
    tools = cast("Tools", parser.parse_args(argv).tools)
    if tools not in _SETS:
        parser.error(f"there is no tool set '{tools}'; choose {', '.join(_SETS)} (--tools or ${VARIABLE})")
    return tools


def serve(tools: Tools) -> None:
    """Serve until standard input ends."""
    # Late, so that --help costs nothing.
    import anyio
    from mcp.server.stdio import stdio_server

    from tallystick.surfaces.mcp.framing import Screened
    from tallystick.surfaces.mcp.server import build_server

    seat = Seat()
    server = build_server(seat, tools)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(Screened(incoming, outgoing), outgoing, server.create_initialization_options())

    try:
        anyio.run(run)
    except* BrokenPipeError:
        pass  # The client is gone, and with it the only one to tell.
    finally:
        seat.close()


class Seat:
    """The one caller that this process serves, and the hub that it opens for it."""

    def __init__(self) -> None:
        self._opening = threading.Lock()
        self._hub: Hub | None = None
        self._name: str | None = None
        """What the caller chose to be called when it joined with `agent_id_override`."""

    def caller(self, request: Request) -> Caller:
        from tallystick.harnesses import identity
        from tallystick.kernel.caller import SessionKind

        client = request.session.client_params
        found = identity.resolve(
            os.environ,
            pid=os.getpid(),
            user="",
            tty=None,
            surface="mcp",
            client_name=client.client_info.name if client else None,
        )
        if self._name is None:
            return found
        return replace(found, agent_id=self._name, display_name=self._name, session=SessionKind.NAMED, overridden=True)

    def workspace(self, _request: Request) -> str | None:
        try:
            return os.environ.get("CLAUDE_PROJECT_DIR") or str(Path.cwd())
        except FileNotFoundError:
            return None  # The folder was removed under us.

    def call(self, name: str, given: Mapping[str, object], caller: Caller, interest: Attention | None = None) -> Answer:
        answer = self._opened().call(name, given, caller, interest)
        if name == "rooms.join" and given.get("agent_id_override") is not None:
            self._name = str(given["agent_id_override"])
        return answer

    def _opened(self) -> Hub:
        with self._opening:
            if self._hub is None:
                from tallystick.hub.hub import Hub
                from tallystick.hub.settings import Settings

                self._hub = Hub.open(Settings.of())
            return self._hub

    def close(self) -> None:
        if self._hub:
            self._hub.close()
