"""All commands as one click tree. A command's module is imported when that command is looked up, not before."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection
from typing import Any, NoReturn

import click

from tallystick.surfaces.cli import catalogue, commands, derived, elsewhere
from tallystick.surfaces.cli.options import GLOBALS, SETTINGS
from tallystick.surfaces.cli.session import Session

_TAKES_VALUE = ("--as", "--data-dir")


class Tree(click.Group):
    """A level of commands; knows the global options and suggests the nearest name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, context_settings=SETTINGS, **kwargs)
        self.params.extend(GLOBALS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        found = self.find(ctx, args)
        if found is None and not ctx.resilient_parsing:
            _no_such_command(ctx, args[0], self.list_commands(ctx))
        return args[0] if found else None, found, args[1:]

    def find(self, ctx: click.Context, args: list[str]) -> click.Command | None:
        """The command that these words begin with."""
        return self.get_command(ctx, args[0])


def _no_such_command(ctx: click.Context, name: str, known: Collection[str]) -> NoReturn:
    near = difflib.get_close_matches(name, known, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    ctx.fail(f"No such command '{name}'.{meant}")


class Root(Tree):
    """The top: the commands of the table, and every noun of the catalogue."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*commands.COMMANDS, *sorted(catalogue.nouns().keys() - commands.COMMANDS.keys())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in commands.ELSEWHERE:
            return _program(cmd_name)
        if cmd_name in commands.COMMANDS:
            return everyday(cmd_name)
        return noun(cmd_name) if cmd_name in catalogue.nouns() else None

    def find(self, ctx: click.Context, args: list[str]) -> click.Command | None:
        name, *rest = args
        # `tally events` is an everyday command, `tally events list` an operation; a folder of that name is ./list.
        if name in catalogue.nouns() and _first_word(rest) in noun_verbs(name):
            return noun(name)
        return self.get_command(ctx, name)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        formatter.write(commands.help_text())


def everyday(name: str) -> click.Command:
    module, _, attribute = commands.COMMANDS[name][0].partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    if name in catalogue.nouns():
        command.epilog = f"Operations: tally {name} {'|'.join(noun_verbs(name))}. Each has a --help of its own."
    return command


def noun(name: str) -> click.Group:
    """The group of a noun's operations; a verb of two parts is a group within it."""
    group = Verbs(name=name, help=f"Operations on {name}.", subcommand_metavar="VERB [--field VALUE]...")
    for verb in catalogue.nouns()[name]:
        command = derived.command(f"{name}.{verb}")
        outer, _, inner = verb.partition(".")
        if not inner:
            group.add_command(command, verb)
            continue
        part = group.commands.setdefault(outer, Verbs(name=outer, help=f"{outer} operations on {name}."))
        if isinstance(part, Verbs):
            part.add_command(command, inner)
    return group


def noun_verbs(name: str) -> list[str]:
    return sorted({verb.partition(".")[0] for verb in catalogue.nouns()[name]})


class Verbs(Tree):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name.replace("-", "_"))


def _first_word(args: list[str]) -> str:
    """The first argument that is neither a global option nor its value."""
    rest = iter(args)
    for arg in rest:
        if arg in _TAKES_VALUE:
            next(rest, None)
        elif arg != "--json" and not arg.startswith(tuple(f"{flag}=" for flag in _TAKES_VALUE)):
            return arg.replace("-", "_")
    return ""


def _program(name: str) -> click.Command:
    @click.command(
        name=name,
        help=commands.ELSEWHERE[name][1],
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    @click.argument("args", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def program(ctx: click.Context, args: tuple[str, ...]) -> int:
        session = ctx.ensure_object(Session)
        session.command = name
        given = {"--as": session.agent, "--data-dir": session.data_dir}
        return elsewhere.start(name, [*(f"{flag}={value}" for flag, value in given.items() if value), *args])

    return program


def tree() -> Root:
    return Root(name="tally", subcommand_metavar="COMMAND [ARGS]...")
