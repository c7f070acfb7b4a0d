"""`tally NOUN VERB --field value …`: a command for every operation, from what the catalogue says about its input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from tallystick.commandline.command import Command
from tallystick.surfaces.cli import catalogue, telling
from tallystick.surfaces.cli.failures import INTERRUPTED
from tallystick.surfaces.cli.options import json_text
from tallystick.surfaces.cli.session import Session, absolute
from tallystick.surfaces.cli.signals import Stop

if TYPE_CHECKING:
    from tallystick.surfaces.cli.catalogue import Field

ROOM_HELP = "The room's id; the room of the current directory when left out."


def command(name: str) -> click.Command:
    shape = catalogue.operations()[name]

    @click.pass_obj
    def run(session: Session, **given: object) -> int:
        return perform(session, name, {key: value for key, value in given.items() if value is not None and value != ()})

    return Command(
        name=name.rpartition(".")[2],
        callback=run,
        params=[_option(field) for field in shape["fields"]],
        help=shape["doc"],
        short_help=shape["summary"],
        context_settings={"token_normalize_func": _normalised},
    )


def perform(session: Session, name: str, given: Mapping[str, object]) -> int:
    """Call an operation as it is; where it needs a room and none is named, that is the current directory's."""
    fields = {field["name"]: field for field in catalogue.operations()[name]["fields"]}
    ready = {key: _value(fields[key], value) for key, value in given.items()}
    if "room_id" not in ready and "room_id" in fields and fields["room_id"].get("required"):
        ready["room_id"] = session.room(None, None)
    with Stop() as stop:
        reply = session.call(name, ready, stop)
    if not session.finish(reply.data):
        telling.tell(name, reply.data)
    return INTERRUPTED if stop.stopped() else 0


def _value(field: Field, given: object) -> object:
    if field["kind"] == "path":
        return absolute(str(given))
    return list(cast("tuple[object, ...]", given)) if isinstance(given, tuple) else given


def _normalised(token: str) -> str:
    return token.replace("_", "-")


def _option(field: Field) -> click.Option:
    flag, kind = field["name"].replace("_", "-"), field["kind"]
    if kind == "boolean":
        return click.Option([f"--{flag}/--no-{flag}", field["name"]], default=None, help=_help(field))
    more: dict[str, Any] = {"multiple": True} if field.get("many") else {}
    if kind == "json":
        more["metavar"] = "JSON"
    return click.Option(
        [f"--{flag}", field["name"]],
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
            return click.Choice(field.get("choices", []))
        case "json":
            return json_text
        case "path":
            return click.Path()
        case _:
            return click.STRING
