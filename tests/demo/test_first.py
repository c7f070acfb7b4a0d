"""The demo of the first start stays on the page, is played once, can be skipped, and goes without a trace."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.demo.theatre import TALLY, Opening
from tests.surfaces.cli.place import Place

pytestmark = pytest.mark.slow


def tally(home: Path, *args: str, path: str | None = None) -> tuple[int, str]:
    environ = {"PATH": path or os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [*TALLY, *args],
        env=environ,
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_it_is_played_once_into_the_store_that_is_served_and_removed_with_one_command(
    show: Opening, tmp_path: Path
) -> None:
    demo = show("--first", "--fast")
    assert demo.to_the_end() == 0, demo.text
    rooms = tally(tmp_path, "verify")[1].splitlines()[-1]

    again, removed, gone = (
        tally(tmp_path, "demo", "--first"),
        tally(tmp_path, "demo", "--remove"),
        tally(tmp_path, "verify"),
    )

    assert " in 2 rooms. All is as it was written." in rooms
    assert again == (0, "")
    assert removed == (0, "The demo's rooms are deleted.\n")
    assert gone == (0, "0 events in 0 rooms. All is as it was written.\n")
    assert list((tmp_path / ".local/share/tallystick/demo").iterdir()) == []
    assert tally(tmp_path, "demo", "--remove") == (0, "There is no demo to delete.\n")
    assert tally(tmp_path, "demo", "--first") == (0, "")


@pytest.mark.parametrize("moment", ["Three agents start", "has the stick: turn 1", "is killed"])
def test_ctrl_c_skips_it_and_what_comes_after_goes_on(show: Opening, tmp_path: Path, moment: str) -> None:
    demo = show("--first", "--fast")
    demo.until(moment)

    for _ in range(20):
        os.killpg(demo.process.pid, signal.SIGINT)

    assert demo.to_the_end() == 0, demo.text
    assert "Skipped." in demo.lines
    assert demo.survivors() == []
    assert tally(tmp_path, "demo", "--remove") == (0, "The demo's rooms are deleted.\n")


def test_sigterm_ends_the_program_and_not_the_demo_alone(show: Opening) -> None:
    demo = show("--first")
    demo.until("has the stick: turn 1")

    demo.process.terminate()

    assert demo.to_the_end() == 130, demo.text
    assert demo.survivors() == []


@pytest.mark.parametrize(
    ("moment", "key"),
    [
        ("Enter skips it.", "\n"),
        ("Enter skips it.", "\x03"),
        ("Three agents start", "\r"),
        ("opens the room", "\n"),
        ("is killed", "\x03"),
    ],
)
def test_a_key_at_the_terminal_skips_it_at_any_moment(tmp_path: Path, moment: str, key: str) -> None:
    place = Place(root=tmp_path)
    with place.terminal("demo", "--first", "--fast") as terminal:
        terminal.until(moment)
        terminal.type(key)
        assert "Skipped." in terminal.rest()
        assert terminal.process.returncode == 0
    assert not (place.data_dir / "tally.log").exists()
    assert place.run("demo", "--remove").out == "The demo's rooms are deleted.\n"


def test_a_demo_that_fails_is_told_and_holds_nobody_up(show: Opening, tmp_path: Path) -> None:
    demo = show("--first")
    demo.until("has the stick: turn 1")
    (ada,) = demo.family("tallystick.demo.agent ada")

    ada.kill()

    assert demo.to_the_end() == 0, demo.text
    assert "The demo ended early: ada ended too early." in demo.text
    assert demo.survivors() == []
    assert tally(tmp_path, "demo", "--remove") == (0, "The demo's rooms are deleted.\n")


def test_without_git_it_is_left_out_and_said(tmp_path: Path) -> None:
    assert tally(tmp_path, "demo", "--first", path=str(tmp_path)) == (
        0,
        "There is no git on this machine: the demo is left out, and everything else works.\n",
    )
