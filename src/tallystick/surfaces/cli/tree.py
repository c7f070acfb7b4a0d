"""All commands as one click tree. A command's module is imported when that command is looked up, not before."""

from __future__ import annotations

import click

from tallystick.commandline.command import Group
from tallystick.commandline.global_options import VARIABLES
from tallystick.surfaces.cli import catalogue, commands, derived


class Root(Group):
    """The top: the commands of the table, and every noun of the catalogue."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*commands.COMMANDS, *sorted(catalogue.nouns().keys() - commands.COMMANDS.keys())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in commands.COMMANDS:
            return listed(cmd_name)
        return noun(cmd_name) if cmd_name in catalogue.nouns() else None

    def find(self, ctx: click.Context, args: list[str]) -> click.Command | None:
        name, *rest = args
        # `tally events` is an everyday command, `tally events list` an operation; a folder of that name is ./list.
        if name in commands.NOUNS_TOO and _first_word(rest) in noun_verbs(name):
            return noun(name)
        if name in commands.CHECKOUT.keys() - commands.COMMANDS.keys():
            ctx.fail(f"`tally {name}` is not part of the installed package; `make {name}` in a checkout runs it.")
        return self.get_command(ctx, name)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        formatter.write(commands.help_text())


def listed(name: str) -> click.Command:
    command: click.Command = commands.loaded(commands.COMMANDS[name][0])
    if name in commands.NOUNS_TOO:
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


class Verbs(Group):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name.replace("-", "_"))


def _first_word(args: list[str]) -> str:
    """The first argument that is neither a global option nor its value."""
    rest = iter(args)
    for arg in rest:
        if arg in VARIABLES:
            next(rest, None)
        elif arg != "--json" and not arg.startswith(tuple(f"{flag}=" for flag in VARIABLES)):
            return arg.replace("-", "_")
    return ""


def tree() -> Root:
    return Root(name="tally", subcommand_metavar="COMMAND [ARGS]...")
