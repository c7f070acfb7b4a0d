"""`tally reserve`, and `tally release PATH`: who edits what."""

from __future__ import annotations

import click

from tallystick.commandline.command import Command
from tallystick.surfaces.cli import render
from tallystick.surfaces.cli.options import period, room_option
from tallystick.surfaces.cli.session import Session, absolute


@click.command(cls=Command)
@click.argument("path", type=click.Path())
@click.option("--shared", is_flag=True, help="Let others reserve it too.")
@click.option("--takeover-stale", is_flag=True, help="Take it from an agent that has fallen silent.")
@click.option("--for", "duration", type=period, metavar="TIME", help="How long: 5m to 24h; 2h if left out.")
@click.option("--task", "task_id", metavar="TASK", help="The task it is for.")
@room_option
@click.pass_obj
def reserve(
    session: Session,
    *,
    path: str,
    shared: bool,
    takeover_stale: bool,
    duration: int | None,
    task_id: str | None,
    room_id: str | None,
) -> None:
    """Reserve a file or a folder before you edit it.

    An agent whose edits are checked is then kept away from it. `tally release PATH` gives it back.
    """
    given = {
        "room_id": session.room(None, room_id),
        "path": absolute(path),
        "mode": "shared" if shared else None,
        "takeover_stale": takeover_stale or None,
        "ttl_minutes": None if duration is None else duration // 60_000,
        "task_id": task_id,
    }
    reply = session.call("reservations.reserve", {name: value for name, value in given.items() if value is not None})
    if not session.finish(reply.data):
        render.render("reservations.reserve", reply)


def give_back(session: Session, path: str, room_id: str | None) -> None:
    given = {"room_id": session.room(None, room_id), "path": absolute(path)}
    reply = session.call("reservations.release", given)
    if not session.finish(reply.data):
        render.render("reservations.release", reply)
