"""`tally who`: who is here. Plain data: see `session.CallReply`."""

from __future__ import annotations

import click

from tallystick.commandline.command import Command
from tallystick.surfaces.cli import render, screen
from tallystick.surfaces.cli.options import about_a_room
from tallystick.surfaces.cli.session import Session


@click.command(cls=Command)
@about_a_room
@click.option("--all", "everybody", is_flag=True, help="Also those who have been silent for long, or are gone.")
@click.pass_obj
def who(session: Session, *, path: str | None, room_id: str | None, everybody: bool) -> None:
    """Show who is here, alive, and holding what."""
    reply = session.call("agents.list", {"room_id": session.room(path, room_id)})
    if session.finish(reply.data):
        return
    agents = reply.data["agents"]
    shown = [each for each in agents if everybody or each["liveness"] != "evicted" or each["holds"]]
    render.agents(shown)
    if len(shown) < len(agents):
        screen.say(f"{len(agents) - len(shown)} more left or fell silent: `tally who --all`.")
