"""`tally call`: any operation by its name; `tally help` and `tally completion`."""

from __future__ import annotations

import json
import sys

import click

from tallystick.commandline.command import Command
from tallystick.kernel.json_values import is_object
from tallystick.surfaces.cli import catalogue, screen
from tallystick.surfaces.cli.errors import Usage
from tallystick.surfaces.cli.failures import INTERRUPTED
from tallystick.surfaces.cli.session import Session, StopSignal


@click.command(cls=Command)
@click.argument("operation", required=False)
@click.option("--input", "text", default="{}", metavar="JSON|-", help="The input as a JSON object; - reads stdin.")
@click.option("--list", "list_them", is_flag=True, help="List every operation.")
@click.pass_obj
def call(session: Session, *, operation: str | None, text: str, list_them: bool) -> int:
    """Call any operation with a JSON input.

    OPERATION is its name on every surface, such as turns.release.
    """
    if list_them:
        _list(session)
        return 0
    if operation is None:
        raise Usage("Name an operation, or list them with --list.", hint="See `tally call --help`.")
    with StopSignal() as stop:
        reply = session.call(operation, _input(sys.stdin.read() if text == "-" else text), stop)
    if not session.finish(reply.data):
        screen.answer(reply.data)
    return INTERRUPTED if stop.stopped() else 0


def _list(session: Session) -> None:
    known = [{"operation": name, "summary": shape["summary"]} for name, shape in catalogue.operations().items()]
    if not session.finish({"operations": known}):
        screen.table(["OPERATION", "SUMMARY"], [list(each.values()) for each in known])


def _input(text: str) -> dict[str, object]:
    try:
        given: object = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise Usage(f"The input is not JSON: {wrong}.", hint="See `tally call --help`.") from None
    if not is_object(given):
        raise Usage("The input must be a JSON object.", hint="See `tally call --help`.")
    return given


@click.command(cls=Command, name="help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_(ctx: click.Context, *, words: tuple[str, ...]) -> None:
    """Show help for a command.

    `tally help send`, `tally help jobs create`; without a command, what there is.
    """
    root = ctx.find_root()
    root.command.main(args=[*words, "--help"], prog_name="tally", standalone_mode=False, obj=root.obj)


@click.command(cls=Command, no_args_is_help=True)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the completion script for a shell.

    For bash put `eval "$(tally completion bash)"` into ~/.bashrc; zsh likewise; for fish write the script to
    ~/.config/fish/completions/tally.fish.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise Usage(f"There is no completion for {shell}.")
    script = kind(ctx.find_root().command, {}, "tally", "_TALLY_COMPLETE").source()
    session: Session = ctx.obj
    if not session.finish({"shell": shell, "script": script}):
        print(script)
