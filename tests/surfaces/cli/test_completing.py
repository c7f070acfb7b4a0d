"""Tab in a real shell: commands, options, and the agents, jobs and rooms that there are."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.surfaces.cli.place import TALLY, Place


@pytest.fixture
def room(place: Place) -> Place:
    place.as_("ann", "join")
    place.as_("ben", "join")
    place.as_("bea", "join")
    place.as_("ann", "job", "Count the sheep")
    return place


def offered(place: Place, line: str, cwd: Path | None = None) -> list[str]:
    """What bash fills in when Tab is pressed at the end of this line."""
    words = line.split(" ")
    typed = " ".join(map(shlex.quote, words))
    script = (
        f'eval "$(tally completion bash)"; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; '
        '_tally_completion tally; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{Path(TALLY).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", script],
        env=place.env | {"PATH": path},
        cwd=cwd or place.workspace,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tally send b", ["ben", "bea"]),
        ("tally send ann,be", ["ann,ben", "ann,bea"]),
        ("tally send @", ["@all", "@peers", "@foreman"]),
        ("tally pass a", ["ann"]),
        ("tally open J", ["JOB-001"]),
        ("tally jobs cancel --job job", ["JOB-001"]),
        ("tally service in", ["install"]),
        ("tally serv", ["service"]),
        ("tally runner --o", ["--once"]),
    ],
)
def test_what_there_is_is_offered(room: Place, line: str, words: list[str]) -> None:
    assert offered(room, line) == words


def test_a_room_is_offered_by_the_beginning_of_its_id(room: Place) -> None:
    room_id = str(room.as_("ann", "state").data["room_id"])

    assert room_id in offered(room, f"tally state --room {room_id[:4]}")


def test_where_there_is_no_room_nothing_is_offered_made_or_said(alone: Place) -> None:
    assert offered(alone, "tally send a") == []
    assert alone.files() == []


def test_nobody_is_told_of_their_mail_while_they_type(room: Place) -> None:
    room.run("--as", "ann", "send", "ben", "Read this.", "--attention")

    assert offered(room, "tally --as ben send an") == ["ann"]
