"""Help and version: cheap, and without any effect."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tallystick import __version__
from tallystick.surfaces.cli import catalogue, commands
from tests.surfaces.cli.place import PROGRAMS, Place

HEAVY = (
    "pydantic",
    "apsw",
    "mcp",
    "psycopg",
    "tallystick.hub.hub",
    "tallystick.hub.registry",
    "tallystick.ledger.tx",
    "tallystick.storage",
    "tallystick.capabilities.turns.operations",
)
"""Of a capability a command may read the contract, and nothing else."""


def test_help_names_every_command_and_every_operation(place: Place) -> None:
    done = place.run("--help")

    words = done.out.replace(",", " ").split()
    verbs = [verb for verbs in catalogue.nouns().values() for verb in verbs]
    assert (done.code, done.err) == (0, "")
    assert [name for name in [*commands.COMMANDS, *catalogue.nouns(), *verbs] if name not in words] == []


def test_help_is_the_same_however_it_is_asked_for(place: Place) -> None:
    texts = {place.run(*args).out for args in ([], ["-h"], ["--help"], ["--json", "--help"])}

    assert len(texts) == 1


def test_top_level_help_loads_neither_click_nor_anything_heavy(place: Place) -> None:
    loaded = _modules_after(place, ["--help"])

    assert {name for name in (*HEAVY, "click", "dataclasses") if name in loaded} == set()


def test_no_help_loads_anything_heavy_or_writes_anything(alone: Place) -> None:
    operations = [name.split(".") for name in catalogue.operations()]
    own = [[name] for name in commands.COMMANDS]
    nouns = [[noun] for noun in catalogue.nouns()]

    loaded = _modules_after(alone, *[[*path, "--help"] for path in [*own, *nouns, *operations]])

    assert {name for name in HEAVY if name in loaded} == set()
    assert alone.files() == []


def _modules_after(place: Place, *calls: list[str]) -> set[str]:
    """What is loaded in a process that has answered these calls, each of them well."""
    words = [word for call in calls for word in (*call, ",")]
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "several.py"), *words],
        env=place.env,
        cwd=place.workspace,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("args", [["--version"], ["state", "--version"], ["--json", "--version"]])
def test_the_version_is_shown_wherever_it_is_asked_for(place: Place, args: list[str]) -> None:
    assert place.run(*args).out == f"tally {__version__}\n"


def test_an_everyday_command_that_is_also_a_noun_points_at_its_operations(place: Place) -> None:
    shown = place.run("events", "--help").out

    assert "--follow" in shown
    assert "tally events append|follow|heads|list|verify" in " ".join(shown.split())
