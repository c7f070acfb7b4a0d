"""Work that takes long says so at a terminal, and nowhere else."""

from __future__ import annotations

import io
import signal
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from tallystick.commandline import output
from tests.surfaces.cli.place import TALLY, Place, at_terminal
from tests.surfaces.hubs import hub
from tests.waiting import until


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_says_what_it_is_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)

    with output.progress("Checking", first=0.001, again=0.002):
        until(lambda: screen.getvalue().count("\n") >= 2)

    assert screen.getvalue().splitlines()[:2] == ["Checking…", "Checking, for 0 s now…"]


@pytest.mark.parametrize(("terminal", "first"), [(False, 0.0), (True, 60.0)])
def test_short_work_and_a_program_that_reads_along_hear_nothing(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, first: float
) -> None:
    screen = _Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)

    with output.progress("Checking", first=first):
        pass

    assert screen.getvalue() == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["wait", "--timeout", "10m"], "Waiting for your turn…"),
        (["turns", "wait", "--max-wait-ms", "110000"], "Waiting…"),
    ],
)
def test_who_waits_at_a_terminal_sees_for_what_until_it_is_there(place: Place, words: list[str], said: str) -> None:
    place.as_("ann", "join")
    place.as_("ann", "wait")
    place.as_("ben", "join")

    with place.terminal("--as", "ben", *words) as terminal:
        terminal.until(said)
        place.as_("ann", "release", "--status", "Half of it.", "--next-action", "The rest.")
        assert "Half of it." in terminal.rest()


@pytest.mark.parametrize(("words", "said"), [(["doctor"], "Checking…"), (["archive"], "Archiving…")])
def test_who_waits_for_the_store_at_a_terminal_is_told(alone: Place, words: list[str], said: str) -> None:
    room = str(alone.as_("ann", "join").data["room_id"])
    alone.as_("ann", "close", "--yes")
    with closing(sqlite3.connect(alone.data_dir / "tally.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with alone.terminal(*words, *([room] if words == ["archive"] else [])) as terminal:
            terminal.until(said)
            other.rollback()
            terminal.rest()


@pytest.fixture
def short() -> Generator[Place]:
    """In a short place: a hub's socket lies below it."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield Place(root=Path(folder))


def test_who_stops_a_hub_that_takes_its_time_is_told(short: Place) -> None:
    with hub(short.env) as running:
        running.process.send_signal(signal.SIGSTOP)
        with short.terminal("down") as terminal:
            terminal.until("Stopping the hub…")
            running.process.send_signal(signal.SIGCONT)
            assert terminal.rest().splitlines()[-1] == "The hub has stopped."


@pytest.mark.parametrize("how", [[], ["--detach"]])
def test_who_starts_a_hub_that_takes_its_time_is_told(short: Place, how: list[str]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        database = {"TALLYSTICK_DATABASE_URL": f"postgresql://127.0.0.1:{silent.getsockname()[1]}/tally"}
        words = [TALLY, "up", "--port", "0", "--database-wait", "0", *how]
        with at_terminal(words, env={**short.env, **database}, cwd=short.workspace) as terminal:
            terminal.until("Starting the hub…")
            silent.close()
            assert "error: " in terminal.rest()
