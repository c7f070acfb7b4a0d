"""`tally open`: delegated work, looked at from a terminal."""

from __future__ import annotations

import click

from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.options import Command, room_option
from tallystick.surfaces.cli.session import Session


@click.command("open", cls=Command)
@click.argument("id")
@room_option
@click.pass_obj
def open_(session: Session, *, id: str, room_id: str | None) -> None:
    """Open anything by its id or ref.

    Such as JOB-001, JOB-001@17, runner:r1, TASK-001, CARD-001, a:parser, notes@17 or an event's id.
    """
    reply = session.call("open.ref", {"room_id": session.room(room_id, None), "id": id})
    if not session.finish(reply.data):
        screen.answer(reply.data)
