"""A page of the documents as a transcript: what it has its reader type, in order, and what stands below each command.

`python -m tests.stories.transcript PAGE...` types them and writes down what is shown, wherever a page says otherwise.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.frame.checkout import ROOT
from tests.stories.team_programs import scripted_team

OWN_TERMINAL = Path(__file__).parent / "programs" / "own_terminal.py"
END = "--- that was all ---"
PATIENCE = 60.0
HOME, PORT = "/home/you", "7433"
"""Where the pages' reader lives, and where their hub listens."""

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/guides").glob("*.md"))]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_SAVED = re.compile(r"[Ss]ave (?:this|it) as\s+`([\w./-]+)`[^`]*\Z")
_REQUEST = re.compile(r"tally allow (\d+)")
"""The number of a request for permission, which depends on how much an agent has said before."""
_ANSWER = re.compile(r"(tally (?:allow|deny) )(\d+)")
_LOOKS = re.compile(r"tally (?:radar|jobs tail|inbox|state)$")
"""A reader who does not see it yet looks again; anything else is typed once."""

_UNSAID = r"(?:(?!error: |Traceback ).*\n)*"
"""Lines that a page leaves out: that something goes wrong, a reader has to see there."""

_VARIES = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "<time>"),
    (re.compile(r"\b\d\d:\d\d(?::\d\d)?\b"), "<time>"),
    (re.compile(r"\bin \d+ h(?: \d+ min)?\b|\bjust now\b|\b\d+ s ago\b"), "<time>"),
    (re.compile(r"code=[\w-]+"), "code=<code>"),
    (re.compile(r"\btly_[\w-]+|\btally_[0-9A-Za-z_-]{20,}"), "<secret>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"\bprocess \d+|\bpid \d+"), "process <n>"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    command: str
    shows: str
    """What the page has below it; `…` stands for anything on a line, and alone for any lines but a refusal's."""
    span: tuple[int, int] = (0, 0)
    """Where that stands on the page."""

    @property
    def looks(self) -> bool:
        return _LOOKS.match(self.command) is not None

    def like(self, shown: str) -> bool:
        lines = (
            _UNSAID if line == "…" else rf"{re.escape(line).replace('…', '.*')}\n"
            for line in _plain(self.shows).splitlines()
        )
        return re.fullmatch("".join(lines), _plain(shown)) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A file that the page has its reader save."""

    name: str
    text: str


def _plain(text: str) -> str:
    """The text with a mark for whatever differs from one time to the next."""
    for pattern, mark in _VARIES:
        text = pattern.sub(mark, text)
    return text


def steps(text: str) -> list[Typed | Saved]:
    """What the reader of a page does, in order."""
    found = list[Typed | Saved]()
    for block in _BLOCK.finditer(text):
        before = text[: block.start()].rstrip()
        paragraph = before[before.rfind("\n\n") + 2 :]
        if saved := _SAVED.search(paragraph):
            found.append(Saved(name=saved[1], text=block[2]))
        elif block[1] == "console":
            start = block.start(2)
            found += [
                Typed(command=each[1], shows=each[2], span=(start + each.start(2), start + each.end(2)))
                for each in _COMMAND.finditer(block[2])
            ]
    return found


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def typed(text: str) -> list[Typed]:
    return [step for step in steps(text) if isinstance(step, Typed)]


@dataclass
class Reader:
    """Somebody with an empty home, one terminal, and what is written in `stands_for` in place of what a page says."""

    home: Path
    process: subprocess.Popen[str]
    port: str
    stands_for: Mapping[str, str] = field(default_factory=dict[str, str])
    numbers: dict[str, str] = field(default_factory=dict[str, str])
    """Those of requests for permission on the page, and what they are here."""

    @property
    def folder(self) -> Path:
        return self.home / "shop"

    def does(self, step: Typed | Saved) -> str:
        """What is shown then."""
        if isinstance(step, Saved):
            (self.folder / step.name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / step.name).write_text(step.text)
            return ""
        shown, until = self._sees(step), time.monotonic() + PATIENCE
        while step.looks and not step.like(shown) and time.monotonic() < until:
            shown = self._sees(step)
        return shown

    def _sees(self, step: Typed) -> str:
        """What is shown, with the page's own numbers of the requests for permission."""
        shown = self.type(_ANSWER.sub(lambda found: found[1] + self.numbers.get(found[2], found[2]), step.command))
        self.numbers |= zip(_REQUEST.findall(step.shows), _REQUEST.findall(shown), strict=False)
        for said, meant in self.numbers.items():
            shown = re.sub(rf"\b{meant}\b", said, shown)
        return shown

    def type(self, command: str) -> str:
        command = command.replace(f":{PORT}", f":{self.port}")
        for said, meant in self.stands_for.items():
            command = command.replace(said, meant)
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{command}\necho '{END}'\n")
        self.process.stdin.flush()
        shown = ""
        for line in self.process.stdout:
            if line.endswith(f"{END}\n"):
                return self._as_on_the_page(shown + line.removesuffix(f"{END}\n"))
            shown += line
        raise AssertionError(f"the shell ended in {command!r} after {shown!r}")

    def _as_on_the_page(self, shown: str) -> str:
        return shown.replace(str(self.home), HOME).replace(f":{self.port}", f":{PORT}")


@contextmanager
def reader(home: Path, stands_for: Mapping[str, str] | None = None, programs: Sequence[str] = ()) -> Generator[Reader]:
    """A terminal in the folder `shop` of a new home, where git has a name to commit under."""
    folder, port = home / "shop", str(free_port())
    folder.mkdir(parents=True)
    keyboard, terminal = pty.openpty()
    (home / ".gitconfig").write_text("[user]\n\tname = You\n\temail = you@shop.example\n")
    environ = {
        "PATH": os.pathsep.join([*programs, str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TALLYSTICK_PORT": port,
        "BROWSER": "true",
    }
    with subprocess.Popen(
        [sys.executable, str(OWN_TERMINAL), str(terminal), "bash"],
        pass_fds=(terminal,),
        cwd=folder,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        found = Reader(home=home, process=process, port=port, stands_for=stands_for or {})
        try:
            yield found
        finally:
            tally = Path(sys.executable).with_name("tally")
            subprocess.run([tally, "down"], env=environ, capture_output=True, check=False)
            # What was started in it goes with it, also when a command did not show what it should.
            os.killpg(process.pid, signal.SIGTERM)
            for end in (keyboard, terminal):
                os.close(end)


def cast(page: Path, home: Path) -> list[str]:
    """Where the programs are that a page speaks of and that are not on every machine."""
    return [str(scripted_team(home).bin)] if page.name == "run-a-team.md" else []


def record(page: Path) -> int:
    """Type a page's commands and write down what they show, where it says otherwise; the result counts those."""
    text, changes = page.read_text("utf-8"), list[tuple[Typed, str]]()
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as folder:
        home = Path(folder) / "h"
        with reader(home, programs=cast(page, home)) as person:
            for step in steps(text):
                shown = person.does(step)
                if isinstance(step, Typed) and not step.like(shown):
                    changes.append((step, shown))
    for step, shown in reversed(changes):
        text = text[: step.span[0]] + shown + text[step.span[1] :]
    page.write_text(text)
    return len(changes)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        sys.stdout.write(f"{given}: {record(Path(given))} written anew\n")
