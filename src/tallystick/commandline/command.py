"""The click classes that all commands are made of: the global options stand on every level of the tree."""

from __future__ import annotations

import os
from typing import Any

import click

from tallystick import __version__
from tallystick.commandline import output
from tallystick.commandline.global_options import OPTIONS, VARIABLES
from tallystick.kernel.errors import did_you_mean


class Invocation:
    def __init__(self, *, command: str = "", as_json: bool = False) -> None:
        self.command = command
        self.as_json = as_json
        self.agent: str | None = None
        self.data_dir: str | None = None

    def variables(self) -> dict[str, str]:
        """The settings that were given as options, as environment variables."""
        given = {"--as": self.agent, "--data-dir": self.data_dir}
        return {VARIABLES[flag]: value for flag, value in given.items() if value}

    def finish(self, data: object) -> bool:
        """Print the envelope if one was asked for; otherwise the command shows the result itself."""
        if self.as_json:
            print(output.envelope(self.command, data), flush=True)
        return self.as_json


SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
_PREFIX = "session_"
"""Keeps the names of global options apart from a command's own."""


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Put a global option into the invocation, whichever level it stood on."""
    if value:
        setattr(ctx.ensure_object(Invocation), (param.name or "").removeprefix(_PREFIX), value)


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"tally {__version__}")
        ctx.exit()


def _global(flag: str, name: str, **more: Any) -> click.Option:
    value, text = OPTIONS[flag]
    more = {"callback": _keep, **more} if value or "is_flag" in more else more
    return click.Option([flag, _PREFIX + name], expose_value=False, help=text, metavar=value or None, **more)


GLOBALS: list[click.Parameter] = [
    _global("--json", "as_json", is_flag=True),
    _global("--as", "agent"),
    _global("--data-dir", "data_dir"),
    _global("--version", "version", is_flag=True, is_eager=True, callback=_show_version),
]


class Command(click.Command):
    """A command that also understands the global options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["context_settings"] = {**SETTINGS, **kwargs.get("context_settings", {})}
        super().__init__(*args, **kwargs)
        self.params.extend(GLOBALS)

    def invoke(self, ctx: click.Context) -> object:
        ctx.ensure_object(Invocation).command = ctx.command_path.partition(" ")[2]
        return super().invoke(ctx)


class Program(Command):
    """A command that goes on, or starts others: `--as` and `--data-dir` become its environment, and thereby theirs."""

    def invoke(self, ctx: click.Context) -> object:
        os.environ.update(ctx.ensure_object(Invocation).variables())
        return super().invoke(ctx)


@click.pass_context
def _help_alone(ctx: click.Context) -> None:
    """A group that is typed alone shows what is in it."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


class Group(click.Group):
    """A level of commands; knows the global options and suggests the nearest name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        alone = {"no_args_is_help": False, "invoke_without_command": True, "callback": _help_alone}
        super().__init__(*args, context_settings=SETTINGS, **{**kwargs, **alone})
        self.params.extend(GLOBALS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        found = self.find(ctx, args)
        if found is None and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{args[0]}'.{self.suggestion(ctx, args[0])}")
        return args[0] if found else None, found, args[1:]

    def suggestion(self, ctx: click.Context, word: str) -> str:
        return did_you_mean(word, self.list_commands(ctx))

    def find(self, ctx: click.Context, args: list[str]) -> click.Command | None:
        """The command that these words begin with."""
        return self.get_command(ctx, args[0])


class Number(click.IntRange):
    """A whole number within bounds, which a message names in plain words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if not text.isdecimal() or not (self.min or 0) <= int(text) <= (self.max or 0):
            self.fail(f"'{text}' is no whole number from {self.min} to {self.max}.", param, ctx)
        return int(text)
