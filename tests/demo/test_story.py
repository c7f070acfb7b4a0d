"""The play as a reader gets it, from any folder, in a pipe and on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import uuid
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from tests.demo.theatre import DEMO, TALLY, Opening, Show, environ, open_show, spoken
from tests.surfaces.cli.place import Place, at_terminal

pytestmark = pytest.mark.slow

STICK = [
    ("ada", "has the stick: turn 1, it was free"),
    ("ada", "releases the stick; bo is next"),
    ("bo", "has the stick: turn 2, next in turn"),
    ("cleo", "takes the stick over: turn 3"),
    ("cleo", "passes the stick to ada"),
    ("ada", "has the stick: turn 4, it was passed here"),
    ("ada", "releases the stick; bo is next"),
    ("bo", "has the stick: turn 5, next in turn"),
    ("bo", "releases the stick; cleo is next"),
]


def _turns(text: str) -> list[tuple[str, str]]:
    """Whose hands the stick went through."""
    return [line for line in spoken(text) if re.match(r"(has|releases|takes|passes) the stick", line[1])]


def test_in_a_pipe_the_story_is_told_line_by_line_and_leaves_nothing_behind(show: Opening, tmp_path: Path) -> None:
    demo = show("--fast")

    code = demo.to_the_end()

    assert code == 0, demo.text
    told = spoken(demo.text)
    assert _turns(demo.text) == STICK
    assert ("cleo", "sees that bo is gone: takeover_available, owner_gone") in told
    assert ("bo", "is refused: turn_mismatch") in told
    assert ("you", "leave a note") in told
    assert "every hash checked" in demo.text
    assert demo.survivors() == []
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Generator[Show]:
    """A play that was kept, and that a harness's shell had started."""
    folder = tmp_path_factory.mktemp("kept")
    harness = folder / "bin" / "claude"
    harness.parent.mkdir()
    harness.symlink_to(sys.executable)
    run = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    with closing(open_show("--fast", "--keep", folder=folder, below=(str(harness), "-c", run))) as demo:
        demo.to_the_end()
        yield demo


def test_below_a_harness_the_agents_are_still_agents_of_their_own(kept: Show) -> None:
    assert kept.process.returncode == 0, kept.text
    assert _turns(kept.text) == STICK


def test_what_is_kept_can_be_looked_at_with_the_commands_that_were_printed(kept: Show, tmp_path: Path) -> None:
    commands = re.findall(r"^  (tally .+)$", kept.text, re.MULTILINE)

    done = [_tally(command, tmp_path) for command in commands]

    assert [each.returncode for each in done] == [0, 0, 0], done
    assert [command.split()[3] for command in commands] == ["state", "events", "verify"]
    assert "Fog tonight" in done[1].stdout


def _tally(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TALLY, *command.split()[1:]], cwd=folder, capture_output=True, text=True, check=False)


def test_a_terminal_shows_lanes_and_who_holds_the_stick(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    shown = environ(uuid.uuid4().hex, tmp_path) | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(
        [*DEMO, "--fast"], cwd=tmp_path, env=shown | {"PYTHONIOENCODING": "utf-8"}, stdin=theirs, stdout=theirs
    )
    os.close(theirs)

    screen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", _drained(ours))

    assert process.wait() == 0, screen
    assert "ada    bo     cleo" in screen
    assert "█      │      │      ada runs the tests: red, as they should be" in screen
    assert "●─────▶│      │      ada releases the stick; bo is next" in screen
    assert "│      †      █      cleo takes the stick over: turn 3" in screen
    assert "│◀────────────●      cleo passes the stick to ada" in screen
    assert "█ cleo holds the stick, turn 3" in screen


def test_where_no_colour_is_wanted_a_terminal_gets_no_escapes_at_all(tmp_path: Path) -> None:
    place = Place(root=tmp_path)
    with at_terminal(
        [*DEMO, "--fast"], env={**place.env, "NO_COLOR": "1", "TERM": "xterm-256color"}, cwd=place.workspace
    ) as terminal:
        shown = terminal.rest()

    assert terminal.process.returncode == 0, shown
    assert _turns(shown) == STICK
    assert "\x1b" not in shown


def _drained(terminal: int) -> str:
    """All that is written to a terminal until nobody has it open any more."""
    chunks: list[bytes] = []
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(terminal)
    return b"".join(chunks).decode()


@pytest.mark.postgres
def test_in_a_shared_database_the_room_is_closed_when_the_play_is_over(
    show: Opening, tmp_path: Path, postgres_url: str
) -> None:
    demo = show("--fast", "--postgres", postgres_url)

    assert demo.to_the_end() == 0, demo.text
    listed = subprocess.run(
        [*TALLY, "--json", "rooms", "--all"],
        env=os.environ | {"TALLYSTICK_DATABASE_URL": postgres_url, "HOME": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    assert [room["room_state"] for room in json.loads(listed.stdout)["data"]["rooms"]] == ["closed"]
