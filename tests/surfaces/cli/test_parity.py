"""The command line offers everything the hub does, and says so."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys

import click
import pytest

from tallystick.commandline.command import GLOBALS
from tallystick.commandline.global_options import OPTIONS
from tallystick.hub import registry
from tallystick.kernel.operation import as_record
from tallystick.surfaces.cli import catalogue, commands, tree
from tests.frame.checkout import ROOT
from tests.surfaces.cli.place import Place

OPERATIONS = sorted(registry.OPERATIONS)


def _command(*words: str) -> click.Command:
    ctx = click.Context(tree.tree(), info_name="tally")
    found: click.Command = ctx.command
    left = list(words)
    while left and isinstance(found, click.Group):
        _, command, left = found.resolve_command(ctx, left)
        assert command is not None
        found = command
    return found


def _headings(pages: str) -> set[str]:
    found = (ROOT / "docs" / "reference").glob(pages)
    return {heading for page in found for heading in re.findall(r"^##+ (.+)$", page.read_text("utf-8"), re.MULTILINE)}


def test_the_reference_is_what_the_registry_says() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tallystick.surfaces.cli.reference", "--check"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "run `make docs`"


BESIDES = {"jobs.create": ("prompt_file",), "jobs.tail": ("follow",)}
"""Options that two commands have besides the fields of their operation."""
SET_BY_THE_COMMAND = {
    **dict.fromkeys(("jobs.list", "jobs.message"), ("moves",)),
    **dict.fromkeys(("jobs.open", "jobs.radar"), ("fmt", "moves")),
}
"""What a command decides itself: lines for a person, all of it for a program."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_a_command_with_a_flag_for_every_field(name: str) -> None:
    command = _command(*name.split("."))

    flags = [param.name for param in command.params if isinstance(param, click.Option) and param not in GLOBALS]
    decided = SET_BY_THE_COMMAND.get(name, ())
    fields = [each for each in registry.OPERATIONS[name].ask.__struct_fields__ if each not in decided]
    assert flags == [*fields, *BESIDES.get(name, ())]
    assert command.help == registry.OPERATIONS[name].doc


def test_every_operation_can_be_called_by_its_name(place: Place) -> None:
    listed = place.run("--json", "call", "--list").data["operations"]

    assert listed == [{"operation": name, "summary": registry.OPERATIONS[name].summary} for name in OPERATIONS]


def test_every_short_form_that_an_operation_claims_is_a_command() -> None:
    claimed = {operation.short for operation in registry.OPERATIONS.values() if operation.short}

    assert claimed - set(commands.COMMANDS) == set()


@pytest.mark.parametrize("name", sorted(commands.COMMANDS))
def test_the_table_says_of_a_command_what_its_own_help_says_first(name: str) -> None:
    command = tree.listed(name)

    assert (command.name, inspect.cleandoc(command.help or "").split("\n\n")[0]) == (name, commands.COMMANDS[name][1])


def test_the_commands_that_are_nouns_too_are_known_as_such() -> None:
    assert commands.COMMANDS.keys() & catalogue.nouns().keys() == commands.NOUNS_TOO


def test_no_field_of_an_operation_hides_a_global_option() -> None:
    fields = {field["name"].replace("_", "-") for shape in catalogue.operations().values() for field in shape["fields"]}

    assert fields & {flag.removeprefix("--") for flag in OPTIONS} == set()


def test_every_operation_and_every_command_is_documented() -> None:
    assert set(OPERATIONS) - _headings("operations/*.md") == set()
    assert {f"tally {name}" for name in commands.COMMANDS} - _headings("cli.md") == set()


def test_every_example_in_the_reference_is_a_valid_input() -> None:
    for name, operation in registry.OPERATIONS.items():
        for example in operation.examples:
            assert as_record(operation.ask, json.loads(json.dumps(example))), name
