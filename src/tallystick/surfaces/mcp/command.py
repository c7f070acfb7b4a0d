"""`tally mcp` as a command; `shim` takes the common case before click is loaded."""

from __future__ import annotations

import click

from tallystick.commandline.command import Program
from tallystick.surfaces.mcp import shim
from tallystick.surfaces.mcp.shim import SETS, TOOLS


@click.command(cls=Program)
@click.option(
    "--tools",
    type=click.Choice(SETS),
    default="daily",
    envvar=TOOLS,
    show_envvar=True,
    show_default=True,
    help="core: the nine tools of the stick; daily: those and one portal per noun; full: everything by name.",
)
def mcp(tools: str) -> int:
    """Serve MCP over stdin and stdout.

    A harness starts it for its agent. It goes through the hub that runs here, and works without one.
    """
    return shim.served({TOOLS: tools})
