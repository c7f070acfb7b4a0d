"""One run through click: its usage errors become refusals like any other."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from itertools import takewhile
from typing import TextIO

import click

from tallystick.kernel.suggestions import did_you_mean
from tallystick.surfaces.cli.errors import Usage
from tallystick.surfaces.cli.failures import guarded
from tallystick.surfaces.cli.session import Session
from tallystick.surfaces.cli.tree import tree


def run(args: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        _print_anything(stream)
    # Asked for beforehand, because a command line that cannot be parsed must answer in the form it asked for.
    session = Session(as_json="--json" in takewhile(lambda arg: arg != "--", args))
    return guarded(session, lambda: _click(session, args))


def _click(session: Session, args: list[str]) -> int:
    try:
        code = tree().main(args=args, prog_name="tally", standalone_mode=False, obj=session)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.UsageError as wrong:
        path = wrong.ctx.command_path if wrong.ctx else "tally"
        session.command = path.partition(" ")[2]
        raise Usage(_message(wrong), hint=f"See `{path} --help`.") from None
    return code if isinstance(code, int) else 0


def _message(wrong: click.UsageError) -> str:
    if not isinstance(wrong, click.NoSuchOption) or wrong.ctx is None:
        return wrong.format_message()
    known = [flag for param in wrong.ctx.command.get_params(wrong.ctx) for flag in (*param.opts, *param.secondary_opts)]
    return f"No such option '{wrong.option_name}'.{did_you_mean(wrong.option_name, known)}"


def _print_anything(stream: TextIO) -> None:
    """A terminal that cannot show a character must not end the program."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
