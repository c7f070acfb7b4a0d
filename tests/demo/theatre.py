"""One run of `tally demo` as a process of its own, and everybody who belongs to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeAlias, cast

import psutil

TALLY = (sys.executable, "-m", "tallystick.surfaces.cli.main")
DEMO = (*TALLY, "demo")
_MARK = "TALLY_TEST_SHOW"
_PATIENCE_S = 60


@dataclass
class Show:
    """A demo that runs; `mark` is in the environment of all its processes, wherever they went."""

    process: subprocess.Popen[str]
    mark: str
    lines: list[str] = field(default_factory=list[str])

    def until(self, text: str) -> str:
        """Watch until a line has this text."""
        for line in self._said():
            if text in line:
                return line
        raise AssertionError(f"'{text}' was never said in {self.lines}")

    def to_the_end(self) -> int:
        for _ in self._said():
            pass
        return self.process.wait(_PATIENCE_S)

    def family(self, word: str = "") -> list[psutil.Process]:
        """The show's processes whose command line has this word."""
        return [each for each in psutil.process_iter() if _belongs(each, self.mark) and word in _command(each)]

    def survivors(self) -> list[str]:
        """Who is still there after a moment for leaving."""
        _, alive = psutil.wait_procs(self.family(), timeout=_PATIENCE_S)
        return [_command(each) for each in alive]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def group(self) -> list[str]:
        """Who still runs in the show's process group; what only waits to be buried does not count."""
        return [_command(each) for each in psutil.process_iter() if _group(each) == self.process.pid]

    def close(self) -> None:
        """End what a failed test left running."""
        self.process.kill()
        self.process.communicate()

    def _said(self) -> Iterator[str]:
        for line in cast("IO[str]", self.process.stdout):
            self.lines.append(line.rstrip("\n"))
            yield line


def open_show(*arguments: str, folder: Path, below: tuple[str, ...] = ()) -> Show:
    """Start the demo in a process group of its own, with its scratch folder under `folder`."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [*below, *DEMO, *arguments],
        cwd=folder,
        env=environ(mark, folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        encoding="utf-8",
    )
    return Show(process, mark)


Opening: TypeAlias = Callable[..., Show]
"""What the fixture `show` gives: `open_show` in the test's own folder, ended with the test."""


def environ(mark: str, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TALLYSTICK_")}
    return {**kept, _MARK: mark, "TMPDIR": str(folder), "HOME": str(folder)}


def spoken(text: str) -> list[tuple[str, str]]:
    """Who did what, from the plain telling."""
    return re.findall(r"^ *[\d.]+s  (\w+) +(.+)$", text, re.MULTILINE)


def _belongs(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(_MARK) == mark and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _group(process: psutil.Process) -> int | None:
    try:
        return None if process.status() == psutil.STATUS_ZOMBIE else os.getpgid(process.pid)
    except (psutil.Error, ProcessLookupError):
        return None


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
