"""The two minutes of the guide: every command that stands there, typed into one shell, shows what stands there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import pytest

from tests.frame.checkout import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PAGE = (ROOT / "docs/guides/two-minutes.md").read_text("utf-8")
END = "--- that was all ---"
PATIENCE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    command: str
    shows: str
    """What the page has below it; `…` stands for anything."""

    @property
    def looks(self) -> bool:
        """A reader who does not see it yet looks again; anything else is typed once."""
        return self.command == "tally radar"

    def like(self, shown: str) -> bool:
        lines = (
            r"(?:.*\n)*" if line == "…" else rf"{re.escape(line).replace('…', '.*')}\n"
            for line in self.shows.splitlines()
        )
        return re.fullmatch("".join(lines), shown) is not None


def typed() -> list[Typed]:
    """The page's console blocks, command by command."""
    blocks = "".join(re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL))
    found = re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", blocks, flags=re.MULTILINE)
    return [Typed(command=command, shows=shows) for command, shows in found]


@dataclass
class Shell:
    """One shell that stays, as a terminal is."""

    process: subprocess.Popen[str]

    def type(self, command: str) -> str:
        keys, screen = cast("IO[str]", self.process.stdin), cast("IO[str]", self.process.stdout)
        keys.write(f"{command}\necho '{END}'\n")
        keys.flush()
        shown = ""
        for line in screen:
            if line == f"{END}\n":
                return shown
            shown += line
        raise AssertionError(f"the shell ended in {command!r} after {shown!r}")


@contextmanager
def shell(folder: Path) -> Generator[Shell]:
    programs = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    environ = {"PATH": programs, "HOME": str(folder.parent), "TALLYSTICK_DATA_DIR": str(folder.parent / "data")}
    with subprocess.Popen(
        ["bash"],
        cwd=folder,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Shell(process)
        finally:
            # The runners that were started in it go with it, also when a command did not show what it should.
            os.killpg(process.pid, signal.SIGTERM)


def test_the_two_minutes_of_the_guide_are_what_a_reader_sees(tmp_path: Path) -> None:
    folder = tmp_path / "flock"
    folder.mkdir()
    (worker,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    (folder / "worker.py").write_text(worker)

    with shell(folder) as terminal:
        for each in typed():
            shown, until = terminal.type(each.command), time.monotonic() + PATIENCE
            while each.looks and not each.like(shown) and time.monotonic() < until:
                shown = terminal.type(each.command)
            assert each.like(shown), f"$ {each.command}\n{shown}\ninstead of\n{each.shows}"


def test_the_story_has_all_its_parts() -> None:
    said = "\n".join(each.command for each in typed())

    assert [
        part
        for part in (
            *("macro delegate", "macro fanout-jobs", "runner --id r1", "runner --id r2"),
            *("radar --reply", "macro merge-report"),
        )
        if part not in said
    ] == []
