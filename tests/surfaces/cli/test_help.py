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


def test_help_fits_on_a_screen_and_names_every_command_and_noun(place: Place) -> None:
    done = place.run("--help")

    lines = done.out.splitlines()
    words = done.out.replace(",", " ").split()
    assert (done.code, done.err) == (0, "")
    assert [name for name in [*commands.COMMANDS, *catalogue.nouns()] if name not in words] == []
    assert (len(lines) <= 40, max(map(len, lines)) <= 80) == (True, True)


def test_help_begins_with_what_to_do_first_and_says_what_needs_a_hub(place: Place) -> None:
    shown = place.run("--help").out

    first = shown.partition("Start here\n")[2].splitlines()[:3]
    assert [line.split()[0] for line in first] == list(commands.FIRST)
    assert "Only attach and relay need a hub (`tally up`); the rest works without one too." in shown


@pytest.mark.parametrize(
    "noun", ["messages", "turns", "agent", "token", "jobs", "service", "install", "guard", "completion"]
)
def test_a_noun_alone_prints_its_help(place: Place, noun: str) -> None:
    alone, asked = place.run(noun), place.run(noun, "--help")

    assert (alone.code, alone.err, alone.out) == (0, "", asked.out)
    assert alone.out.startswith(f"Usage: tally {noun} ")


def test_a_wrong_word_is_told_which_were_right_on_one_line(place: Place) -> None:
    done = place.run("completion", "tcsh")

    assert done.err.splitlines() == [
        "error: Invalid value for '{bash|zsh|fish}': 'tcsh' is not one of 'bash', 'zsh', 'fish'.",
        "hint: See `tally completion --help`.",
    ]


@pytest.mark.parametrize("words", [["send"], ["jobs", "create"], ["events"]])
def test_help_is_a_command_too(place: Place, words: list[str]) -> None:
    assert place.run("help", *words) == place.run(*words, "--help")


NEW = ("send", "ask", "interrupt", "inbox", "ack", "reply", "reserve", "job", "heartbeat", "who", "help")


def test_no_verb_loads_more_than_it_needs(place: Place) -> None:
    """With a hub that answers, contracts and the store are loads for nothing; `log` reads events by their structs."""
    place.as_("ann", "join")
    calls = [
        ["--as", "ann", "send", "ann", "hello"],
        ["--as", "ann", "inbox"],
        ["--as", "ann", "reserve", "src"],
        ["--as", "ann", "who"],
        ["--as", "ann", "job", "count"],
        ["--as", "ann", "state"],
    ]

    loaded = _modules_after(place, *calls)

    assert {name for name in (*HEAVY, "msgspec", "rich", "dataclasses") if name in loaded} == set()
    assert set(commands.COMMANDS) >= set(NEW)


@pytest.mark.parametrize(
    ("words", "meant"),
    [("msg", "send"), ("snd", "send"), ("lock", "reserve"), ("messages snd", "send"), ("reservations chek", "check")],
)
def test_a_command_that_is_not_there_is_met_with_the_one_that_was_meant(place: Place, words: str, meant: str) -> None:
    done = place.run(*words.split())

    assert (done.code, done.err.splitlines()[0].partition(". ")[2]) == (2, f"Did you mean '{meant}'?")


def test_help_is_the_same_however_it_is_asked_for(place: Place) -> None:
    texts = {place.run(*args).out for args in ([], ["-h"], ["--help"], ["help"], ["--json", "--help"], ["--json"])}

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
