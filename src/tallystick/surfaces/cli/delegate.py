"""`tally job`: a piece of work for whichever runner takes it. Plain data: see `session.CallReply`."""

from __future__ import annotations

import sys

import click

from tallystick.commandline.command import Command
from tallystick.surfaces.cli import render, short_ids
from tallystick.surfaces.cli.options import path_option, room_option
from tallystick.surfaces.cli.session import Session

TITLE_LIMIT = 200


@click.command(cls=Command)
@click.argument("text")
@click.option("--title", help="What it is, in one line; the first line of TEXT if left out.")
@click.option("--executor", metavar="NAME", help="Who runs it: codex, claude_code, gemini, command; auto if left out.")
@click.option("--priority", type=click.Choice(["LOW", "MEDIUM", "HIGH"]), help="Claimed in this order.")
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
