"""A machine of its own for `tally`: an empty home, a workspace, and ways to run the real program in it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

PROGRAMS = Path(__file__).parent / "programs"
DETACHED = Path(__file__).parents[2] / "harnesses" / "programs" / "detached.py"
TALLY = str(Path(sys.executable).with_name("tally"))
PATIENCE = 60.0
"""Seconds after which a test that waits for output gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, object]:
        (line,) = self.out.splitlines()
        return cast("dict[str, object]", json.loads(line))

    @property
    def data(self) -> dict[str, object]:
        assert self.envelope["ok"], self
        return cast("dict[str, object]", self.envelope["data"])

    def rows(self, name: str) -> list[dict[str, object]]:
        """A list of objects in the data."""
        return cast("list[dict[str, object]]", self.data[name])

    @property
    def error(self) -> dict[str, object]:
        assert not self.envelope["ok"], self
        return cast("dict[str, object]", self.envelope["error"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Somebody sits here."""

    process: subprocess.Popen[bytes]
    device: int
    seen: bytearray = field(default_factory=bytearray)

    def until(self, text: str) -> str:
        """Read until this text appears."""
        while text.encode() not in self.seen:
            if not self._read():
                raise AssertionError(f"{text!r} never appeared in {bytes(self.seen)!r}")
        return self.text

    def rest(self) -> str:
        while self._read():
            pass
        self.process.wait(PATIENCE)
        return self.text

    @property
    def text(self) -> str:
        return self.seen.decode().replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self.device, text.encode())

    def _read(self) -> bool:
        ready, _, _ = select.select([self.device], [], [], PATIENCE)
        assert ready, f"silence after {bytes(self.seen)!r}"
        try:
            more = os.read(self.device, 65536)
        except OSError:  # Linux says so when the last process has left the terminal.
            return False
        self.seen.extend(more)
        return bool(more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An empty home and a workspace. With the data directory of a hub that runs, every command asks that one."""

    root: Path
    hub: Path | None = None

    def __post_init__(self) -> None:
        for folder in (self.home, self.workspace):
            folder.mkdir()
        (self.workspace / "AGENTS.md").touch()

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def data_dir(self) -> Path:
        return self.hub or self.home / ".local" / "share" / "tallystick"

    @property
    def env(self) -> dict[str, str]:
        hub = {"TALLYSTICK_DATA_DIR": str(self.hub)} if self.hub else {}
        return {
            **hub,
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "COLUMNS": "120",
        }

    def files(self) -> list[str]:
        """Everything below the home folder."""
        return sorted(path.relative_to(self.home).as_posix() for path in self.home.rglob("*"))

    def run(self, *args: str, stdin: str = "", env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Done:
        done = subprocess.run(
            [TALLY, *args],
            input=stdin.encode("utf-8", "surrogateescape"),
            env=self.env | dict(env or {}),
            cwd=cwd or self.workspace,
            capture_output=True,
            check=False,
        )
        return Done(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    def as_(self, agent: str, *args: str, stdin: str = "") -> Done:
        """Run for a named agent and read the envelope."""
        return self.run("--json", "--as", agent, *args, stdin=stdin)

    def orphaned(self, *args: str) -> Done:
        """Run where no harness is above, not even the one that may run these tests: as a person would."""
        done = subprocess.run(
            [sys.executable, str(DETACHED), TALLY, "--json", *args],
            env=self.env,
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        return Done(code=0, out=done.stdout.decode(), err=done.stderr.decode())

    @contextmanager
    def running(self, *args: str) -> Generator[subprocess.Popen[str]]:
        """A command that goes on, with pipes; ended at last if the test did not."""
        with subprocess.Popen(
            [TALLY, *args],
            env=self.env,
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def terminal(self, *args: str) -> Generator[Terminal]:
        with at_terminal([TALLY, *args], env=self.env, cwd=self.workspace) as found:
            yield found


@contextmanager
def at_terminal(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> Generator[Terminal]:
    """A program with a terminal of its own, which sends it what keys stand for."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(PROGRAMS / "at_terminal.py"), *argv],
        env=env,
        cwd=cwd,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process=process, device=master)
    finally:
        process.kill()
        process.wait()
        os.close(master)


def lines_until(process: subprocess.Popen[str], text: str) -> list[str]:
    """Read a running command's stderr up to the line with this text."""
    assert process.stderr is not None
    seen = list[str]()
    for line in process.stderr:
        seen.append(line)
        if text in line:
            return seen
    raise AssertionError(f"{text!r} never appeared in {seen}")
