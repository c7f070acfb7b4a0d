"""`tally reserve`, `who`, `job` and `release PATH`: who is here and edits what, and work for whichever runner takes it.

Answers are read as plain data: see `session.CallReply`.
"""

from __future__ import annotations

import sys

import click

from tallystick.commandline.command import Command
from tallystick.surfaces.cli import render, screen, short_ids
from tallystick.surfaces.cli.options import about_a_room, path_option, period, room_option
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
        line = session.typed("agents.list").removesuffix("`")
        screen.say(f"{len(agents) - len(shown)} more left or fell silent: {line} --all`.")


TITLE_LIMIT = 200


@click.command(cls=Command)
@click.argument("text")
@click.option("--title", help="What it is, in one line; the first line of TEXT if left out.")
@click.option("--executor", metavar="NAME", help="Who runs it: codex, claude_code, gemini, command; auto if left out.")
@click.option(
    "--priority", type=click.Choice(["LOW", "MEDIUM", "HIGH"], case_sensitive=False), help="Claimed in this order."
)
@click.option("--task", metavar="TASK", help="The task it belongs to.")
@click.option("--after", multiple=True, metavar="JOB", help="A job that has to be done before. Repeatable.")
@path_option
@room_option
@click.pass_obj
def job(
    session: Session,
    *,
    text: str,
    title: str | None,
    executor: str | None,
    priority: str | None,
    task: str | None,
    after: tuple[str, ...],
    path: str | None,
    room_id: str | None,
) -> None:
    """Give a piece of work to whichever runner takes it.

    TEXT says what to do and what shows that it is done; - reads it from stdin. `tally runner` carries jobs out, and
    `tally radar` shows them.
    """
    prompt = sys.stdin.read() if text == "-" else text
    given = {
        "room_id": session.room(path, room_id),
        "title": title or first_line(prompt),
        "prompt": prompt,
        "executor": executor,
        "priority": priority,
        "task": task and short_ids.numbered("task", task),
        "after": [short_ids.numbered("job", each) for each in after] or None,
    }
    reply = session.call("jobs.create", {name: value for name, value in given.items() if value is not None})
    if not session.finish(reply.data):
        render.render("jobs.create", reply)


def first_line(prompt: str) -> str:
    line = prompt.strip().partition("\n")[0].strip()
    return line if len(line) <= TITLE_LIMIT else f"{line[: TITLE_LIMIT - 1]}…"
