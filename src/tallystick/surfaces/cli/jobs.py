"""`tally radar` and `tally open`: delegated work, looked at from a terminal."""

from __future__ import annotations

import sys

import click

from tallystick.commandline.command import Command
from tallystick.commandline.visible import visible_json, visible_lines
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.errors import Usage
from tallystick.surfaces.cli.options import about_a_room, room_option
from tallystick.surfaces.cli.session import CallReply, Session, StopSignal

LOOK_MS = 2_000
"""Leases run out without an event, so a watch looks at least this often."""
CLEAR = "\x1b[2J\x1b[3J\x1b[H"


@click.command(cls=Command)
@about_a_room
@click.option("--watch", is_flag=True, help="Go on looking, until Ctrl-C.")
@click.option("--status", type=click.Choice(["QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED"]), help="Only these.")
@click.option("--task", metavar="TASK", help="Only jobs of this task.")
@click.option("--anchor", metavar="ANCHOR", help="Only jobs about this area.")
@click.option("--limit", type=click.IntRange(1, 200), default=25, show_default=True, help="At most this many jobs.")
@click.option("--reply", type=(str, str), metavar="JOB MESSAGE", help="Answer a job's question first.")
@click.pass_obj
def radar(
    session: Session,
    *,
    path: str | None,
    room_id: str | None,
    watch: bool,
    reply: tuple[str, str] | None,
    **given: object,
) -> None:
    """Show which jobs need you and who is working.

    `!` is an error or missing proof, `?` a question for you, `~` a claim that ran out. With --watch it goes on looking;
    with --json as well, each change is one line of JSON, without the envelope.
    """
    if watch and reply:
        raise Usage("Answer with --reply first, then look with --watch.")
    filters = {name: value for name, value in given.items() if value is not None}
    ask = {"room_id": session.room(path, room_id), "fmt": "lines", **filters}
    if watch:
        _watch(session, ask)
        return
    answer = dict(zip(("reply_job", "reply_message"), reply, strict=True)) if reply else {}
    found = session.call("jobs.radar", {**ask, **answer})
    if not session.finish(found.data):
        _show(found)


def _watch(session: Session, ask: dict[str, object]) -> None:
    shown, since = None, None
    with StopSignal() as stop:
        while not stop.stopped():
            more = {"since_seq": since, "max_wait_ms": LOOK_MS} if since is not None else {}
            found = session.call("jobs.radar", {**ask, **more}, stop)
            since = found.data["cursor"]
            if found.data["text"] != shown:
                shown = found.data["text"]
                _draw(session, found)


def _draw(session: Session, found: CallReply) -> None:
    if session.as_json:
        print(visible_json(found.data), flush=True)
        return
    if sys.stdout.isatty():
        print(CLEAR, end="")
    _show(found)


def _show(found: CallReply) -> None:
    print(*visible_lines(found.data["text"]), sep="\n", flush=True)


@click.command("open", cls=Command)
@click.argument("id")
@room_option
@click.pass_obj
def open_(session: Session, *, id: str, room_id: str | None) -> None:
    """Open anything by its id or ref.

    Such as JOB-001, JOB-001@17, runner:r1, TASK-001, CARD-001, a:parser, notes@17 or an event's id.
    """
    reply = session.call("open.ref", {"room_id": session.room(None, room_id), "id": id})
    if not session.finish(reply.data):
        screen.answer(reply.data)
