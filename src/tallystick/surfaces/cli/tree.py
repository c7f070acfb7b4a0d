"""All commands as one click tree, and a run of it; and `tally call`, `tally help` and `tally completion`.

Those of the table are imported when they are looked up; every operation is a command as well.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from io import TextIOWrapper
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from tallystick.commandline.command import Command, Group
from tallystick.commandline.global_options import VARIABLES
from tallystick.kernel.errors import did_you_mean
from tallystick.kernel.hints import COMMANDS
from tallystick.kernel.json_values import is_object
from tallystick.surfaces.cli import catalogue, commands, options, render, screen, short_ids
from tallystick.surfaces.cli.failures import INTERRUPTED, guarded
from tallystick.surfaces.cli.options import json_text
from tallystick.surfaces.cli.session import Session, StopSignal, Usage, absolute

if TYPE_CHECKING:
    from tallystick.surfaces.cli.catalogue import Field

ROOM_HELP = "The room's id; the room of the current directory when left out."


OFFERED: Mapping[str, Any] = {
    "agent": options.complete_agents,
    "agent-id": options.complete_agents,
    "job": options.complete_jobs,
    "reply-job": options.complete_jobs,
    "room-id": options.complete_rooms,
    "to": options.complete_recipients,
    "to-agent-id": options.complete_agents,
}
"""What Tab offers for a field of this name."""


def operation_command(name: str) -> click.Command:
    shape = catalogue.operations()[name]

    @click.pass_obj
    def run(session: Session, **given: object) -> int:
        return perform(session, name, {key: value for key, value in given.items() if value is not None and value != ()})

    command = Command(
        name=name.rpartition(".")[2],
        callback=run,
        params=[_option(field) for field in shape["fields"]],
        help=shape["doc"],
        short_help=shape["summary"],
        context_settings={"token_normalize_func": _normalised},
    )
    if name in commands.EXTENDED:
        commands.loaded(commands.EXTENDED[name])(command)
    spoken, places, _ = COMMANDS.get(name, ("", (), {}))
    if spoken == name.replace(".", " "):
        _with_words(command, places, hint=f"See `tally {spoken} --help`.")
    return command


def _with_words(command: click.Command, places: Sequence[str], *, hint: str) -> None:
    """Take these fields as plain words too, `tally jobs message JOB-001 "…"`, as hints write them."""
    run = command.callback
    needed = {option.name for option in command.params if option.required} & set(places)
    for option in command.params:
        if option.name in needed:
            option.required = False
    command.params += [
        click.Argument([f"{place}_word"], required=False, metavar=f"[{place.upper()}]") for place in places
    ]

    def extended(**given: object) -> object:
        words = {place: given.pop(f"{place}_word") for place in places}
        for place, word in words.items():
            if word is not None and given[place] is not None:
                raise Usage(f"Give {place.upper()} as a word or with --{place}, not both.", hint=hint)
            given[place] = word if word is not None else given[place]
            if place in needed and given[place] is None:
                raise Usage(f"Missing {place.upper()}.", hint=hint)
        return run(**given) if run else None

    command.callback = extended


def perform(session: Session, name: str, given: Mapping[str, object]) -> int:
    """Call an operation as it is; where it needs a room and none is named, that is the current directory's."""
    fields = {field["name"]: field for field in catalogue.operations()[name]["fields"]}
    ready = {key: _value(fields[key], value) for key, value in given.items()}
    room, placed = fields.get("room_id"), "path" in fields and "path" not in ready
    if room and "room_id" not in ready and (room.get("required") or placed):
        ready["room_id"] = session.room(None, None)
    elif isinstance(named := ready.get("room_id"), str):
        ready["room_id"] = session.room(None, named)
    for field in short_ids.ROOM_FIELDS & ready.keys():
        ready[field] = short_ids.room(session, str(ready[field]))
    for field in short_ids.EVENT_FIELDS.keys() & ready.keys():
        room_id = ready.get(short_ids.EVENT_FIELDS[field]) or ready.get("room_id", "")
        ready[field] = short_ids.event(session, str(room_id), str(ready[field]))
    if "reservation_id" in ready:
        ready["reservation_id"] = short_ids.reservation(session, str(ready["room_id"]), str(ready["reservation_id"]))
    with StopSignal() as stop, _said_to_wait() if "max_wait_ms" in fields else nullcontext():
        reply = short_ids.call(session, name, ready, stop)
    if not session.finish(reply.data):
        render.render(name, reply)
    return INTERRUPTED if stop.stopped() else render.exit_code(name, reply)


def _said_to_wait() -> AbstractContextManager[None]:
    from tallystick.commandline import output  # Here: most operations wait for nothing.

    return output.progress("Waiting")


def _value(field: Field, given: object) -> object:
    if field["kind"] == "path":
        return absolute(str(given))
    if isinstance(given, str):
        return short_ids.numbered(field["name"], given)
    return [_value(field, each) for each in cast("tuple[object, ...]", given)] if isinstance(given, tuple) else given


def _normalised(token: str) -> str:
    return token.replace("_", "-")


def _option(field: Field) -> click.Option:
    flag, kind = field["name"].replace("_", "-"), field["kind"]
    if kind == "boolean":
        return click.Option([f"--{flag}/--no-{flag}", field["name"]], default=None, help=_help(field))
    more: dict[str, Any] = {"multiple": True} if field.get("many") else {}
    also = ["--room"] if field["name"] == "room_id" else []
    if kind == "json":
        more["metavar"] = "JSON"
    if flag in OFFERED:
        more["shell_complete"] = OFFERED[flag]
    return click.Option(
        [*also, f"--{flag}", field["name"]],
        type=_type(field),
        required=field.get("required", False) and field["name"] != "room_id",
        help=_help(field),
        **more,
    )


def _help(field: Field) -> str:
    if field["name"] == "room_id" and field.get("required"):
        return ROOM_HELP
    value = field.get("default")
    default = f"[default: {value}]" if value not in (None, "", []) else ""
    again = "Repeatable." if field.get("many") else ""
    return " ".join(filter(None, (field["help"], again, default)))


def _type(field: Field) -> object:
    match field["kind"]:
        case "integer":
            return click.INT
        case "number":
            return click.FLOAT
        case "choice":
            return click.Choice(field.get("choices", []), case_sensitive=False)
        case "json":
            return json_text
        case "path":
            return click.Path()
        case _:
            return click.STRING


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

    def suggestion(self, ctx: click.Context, word: str) -> str:
        meant = commands.ELSEWHERE.get(word)
        return f" Did you mean '{meant}'?" if meant else super().suggestion(ctx, word)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        formatter.write(commands.help_text())


def listed(name: str) -> click.Command:
    command: click.Command = commands.loaded(commands.COMMANDS[name][0])
    if name in commands.NOUNS_TOO:
        command.epilog = f"Operations: tally {name} {'|'.join(noun_verbs(name))}. Each has a --help of its own."
    return command


def noun(name: str) -> click.Group:
    """The group of a noun's operations; a verb of two parts is in a group within it."""
    verbs = catalogue.nouns()[name]
    return Verbs(name, verbs, name=name, help=f"Operations on {name}.", subcommand_metavar="VERB [--field VALUE]...")


def noun_verbs(name: str) -> list[str]:
    return sorted({verb.partition(".")[0] for verb in catalogue.nouns()[name]})


class Verbs(Group):
    """Operations whose names begin alike. Each command, with all its options, is made when it is asked for."""

    def __init__(self, above: str, verbs: Sequence[str], **attrs: Any) -> None:
        super().__init__(**attrs)
        self._above, self._verbs = above, verbs

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted({verb.partition(".")[0] for verb in self._verbs})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        verb = cmd_name.replace("-", "_")
        if verb in self._verbs:
            return operation_command(f"{self._above}.{verb}")
        inner = [each.removeprefix(f"{verb}.") for each in self._verbs if each.startswith(f"{verb}.")]
        if not inner:
            return None
        return Verbs(f"{self._above}.{verb}", inner, name=verb, help=f"{verb} operations on {self._above}.")


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
    except click.exceptions.NoArgsIsHelpError as alone:
        if session.as_json:  # A program has no use for help.
            path = alone.ctx.command_path if alone.ctx else "tally"
            session.command = path.partition(" ")[2]
            raise Usage("Missing an argument.", hint=f"See `{path} --help`.") from None
        click.echo(alone.format_message())
        return 0
    except click.UsageError as wrong:
        path = wrong.ctx.command_path if wrong.ctx else "tally"
        session.command = path.partition(" ")[2]
        raise Usage(_message(wrong), hint=f"See `{path} --help`.") from None
    return code if isinstance(code, int) else 0


def _message(wrong: click.UsageError) -> str:
    if not isinstance(wrong, click.NoSuchOption) or wrong.ctx is None:
        # click puts choices on lines of their own; a refusal is one line.
        return " ".join(wrong.format_message().split())
    known = [flag for param in wrong.ctx.command.get_params(wrong.ctx) for flag in (*param.opts, *param.secondary_opts)]
    return f"No such option '{wrong.option_name}'.{did_you_mean(wrong.option_name, known)}"


def _print_anything(stream: TextIO) -> None:
    """A terminal that cannot show a character must not end the program."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


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
