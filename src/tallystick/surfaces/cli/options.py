"""What the commands about rooms have in common: the room they mean, and values of unusual types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])

_PERIOD = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


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
