"""`tally demo`: what it can be asked for; loading this loads nothing that plays."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from dataclasses import asdict, dataclass
from typing import Any

import click

from tallystick.commandline.command import Invocation, Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    fast: bool
    keep: bool
    here: bool
    page: bool
    first: bool
    remove: bool
    postgres: str | None


@click.command(cls=Program)
@click.option("--fast", is_flag=True, help="Do not stop for the reader.")
@click.option("--keep", is_flag=True, help="Leave the store and the repository behind to look at.")
@click.option("--here", is_flag=True, help="Play in your own store instead of a scratch one.")
@click.option("--page", is_flag=True, help="Watch it on the page, and stay there until Ctrl-C.")
@click.option("--first", is_flag=True, help="Play in your own store, at the first start only; Enter skips it.")
@click.option("--remove", is_flag=True, help="Delete the rooms and the repository that --first made.")
@click.option("--postgres", metavar="URL", help="Play in this PostgreSQL database.")
@click.pass_obj
def demo(invocation: Invocation, **given: Any) -> None:
    """Show three agents at work in a room of their own.

    They share a small repository and one of them dies at work: half a minute of how the stick is handed on, taken over
    and accounted for. It needs no harness, no account and no network. With --json the story goes to stderr.
    """
    arguments = Arguments(**given)
    if arguments.page and (arguments.here or arguments.postgres):
        raise click.UsageError("--page has a store and a hub of its own; leave out --here and --postgres.")
    if arguments.first or arguments.remove:
        from tallystick.demo import command

        with redirect_stdout(sys.stderr) if invocation.as_json else ExitStack():
            done = command.remove() if arguments.remove else command.play_first(arguments)
        invocation.finish({"done": done})
        return
    from tallystick.demo.command import run

    with ExitStack() as stack:
        if invocation.as_json:
            stack.enter_context(redirect_stdout(sys.stderr))
        found = run(arguments)
    invocation.finish(asdict(found))
