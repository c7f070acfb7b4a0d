"""Every `tally` command that the program, README or a guide prints works as it is printed.

What a page has its reader type is typed in `tests/stories/test_transcripts.py`.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tallystick.surfaces.cli.main import main
from tests.frame import printed
from tests.frame.checkout import modules, nodes, shown
from tests.surfaces.cli.place import TALLY, Place
from tests.surfaces.hubs import hub

ENDLESS = re.compile(
    r"tally (?:up|hold|mcp|hook|demo|bench|runner|attach|relay|jobs wait|setup)\b| --(?:watch|follow)\b|DATABASE_URL"
)
"""What goes on until somebody ends it, or needs a harness, a terminal, a database: it is read, and not run."""

UNDERSTOOD = {0, 1, 3, 5}
"""Done, refused for a reason that the hub has, unavailable, not your turn: all but wrong usage and faults."""


def read(given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str | None:
    """What the real command tree has against these words."""
    monkeypatch.setattr(sys, "argv", ["tally", *given, "--help"])
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    return f"tally {' '.join(given)}: {said.err or said.out}" if code else None


def test_every_command_that_is_printed_anywhere_exists_with_its_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TALLYSTICK_DATA_DIR", str(tmp_path))
    documented = {each for page in printed.PAGES for each in (*printed.typed(page), *printed.mentioned(page))}
    own = printed.from_the_program()

    wrong = [
        refusal
        for command in sorted(documented | own.keys())
        for given in printed.words(command)
        if (refusal := read(given, monkeypatch, capsys))
    ]

    assert (len(documented) > 85, len(own) > 70) == (True, True)
    assert wrong == []


@pytest.fixture
def ready(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Place, str]]:
    """A workspace under git with a room in it, and a hub of its own, which a line may end."""
    place = Place(root=tmp_path_factory.mktemp("page"))
    subprocess.run(["git", "init", "-q", str(place.workspace)], check=True)
    with hub(place.env):
        yield place, str(place.as_("ann", "join").data["room_id"])


def run(place: Place, line: str, room: str) -> tuple[int, str]:
    """Type a line into a shell; what stands for an id of the reader's own becomes one."""
    done = subprocess.run(
        ["sh", "-c", re.sub(r"\bROOM\b", room, line)],
        env={**place.env, "PATH": f"{Path(TALLY).parent}{os.pathsep}{os.environ['PATH']}"},
        cwd=place.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def mentioned() -> dict[Path, list[str]]:
    """What each page mentions, leaving out what a page before it does."""
    found = dict[str, Path]()
    for page in printed.GUIDES:
        for line in printed.mentioned(page):
            found.setdefault(line, page)
    run_here = [line for line in sorted(found) if not ENDLESS.search(line)]
    return {page: [line for line in run_here if found[line] == page] for page in printed.GUIDES}


@pytest.mark.parametrize("page", [page for page, lines in mentioned().items() if lines], ids=shown)
def test_what_a_page_mentions_is_understood_as_typed(ready: tuple[Place, str], page: Path) -> None:
    """A command without what it needs is a mention of its name: that it needs more may be all that is wrong with it."""
    place, room = ready

    done = {line: run(place, line, room) for line in mentioned()[page]}

    wrong = {line: said for line, said in done.items() if said[0] not in UNDERSTOOD}
    assert {line: said for line, said in wrong.items() if not said[1].startswith("error: Missing ")} == {}


@pytest.mark.parametrize(
    "line", ["tally token issue --room ROOM --as NAME", "tally token issue --room ROOM --for NAME"]
)
def test_a_token_is_issued_as_it_is_printed_everywhere(ready: tuple[Place, str], line: str) -> None:
    place, room = ready

    code, said = run(place, line, room)

    assert (code, said.partition(" token ")[0]) == (0, "This is NAME's")


def test_there_is_one_parser() -> None:
    others = {
        f"{shown(path)} imports {name}"
        for path in modules()
        for node in nodes(path)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ({each.name for each in node.names} | {getattr(node, "module", None)})
        if name in {"argparse", "optparse", "getopt"}
    }

    assert others == set()
