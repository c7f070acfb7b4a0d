"""What commands have in common: global options on every level, the room they are about, values of unusual types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tallystick import __version__
from tallystick.surfaces.cli import commands
from tallystick.surfaces.cli.session import Session

F = TypeVar("F", bound=Callable[..., object])

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
_PERIOD = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_PREFIX = "session_"
"""Keeps the names of global options apart from a command's own."""

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Put a global option into the session, whichever level it stood on."""
    if value:
        setattr(ctx.ensure_object(Session), (param.name or "").removeprefix(_PREFIX), value)


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"tally {__version__}")
        ctx.exit()


def _global(flag: str, name: str, **more: Any) -> click.Option:
    value, text = commands.OPTIONS[flag]
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
        ctx.ensure_object(Session).command = ctx.command_path.partition(" ")[2]
        return super().invoke(ctx)


def about_a_room(command: F) -> F:
    """The usual way to say which room is meant: PATH, by default the current directory, or --room."""
    return _path(room_option(command))


_path = click.argument("path", required=False, type=click.Path())
room_option = click.option("--room", "room_id", metavar="ID", help="The room, instead of the one a path leads to.")
path_option = click.option(
    "--path", type=click.Path(), help="A path in the workspace, instead of the current directory."
)


def period(value: str | int) -> int:
    """`30s`, `500ms`, `2m`, `1h`; a bare number counts seconds. The result is in milliseconds."""
    found = _PERIOD.fullmatch(str(value).strip())
    if not found:
        raise click.BadParameter(f"{value!r} is not a time such as 30s, 500ms or 2m.")
    return int(float(found[1]) * _UNITS[found[2] or "s"])


def json_text(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as wrong:
        raise click.BadParameter(f"this is not JSON: {wrong}.") from None
