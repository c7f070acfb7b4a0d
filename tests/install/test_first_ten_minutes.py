"""The first ten minutes of a stranger: a bare home, a clone, `make up`, a second terminal, two agents, and out again.

Everything is used as it is printed: the sign-in link, the line for the PATH, the hook that was installed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT
from tests.surfaces.cli.place import Terminal, at_terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PACKAGES = ("PIP_", "SSL_CERT", "REQUESTS_CA", "https_proxy", "HTTPS_PROXY")
"""How this machine gets Python packages: the one thing that a bare home needs of it."""

SHARED = frozenset({".local", ".local/share"})
"""Empty folders that are not ours alone, and stay."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A home with nothing in it but a clone, and nothing on the PATH but the system, git, make and Python."""

    home: Path

    @property
    def clone(self) -> Path:
        return self.home / "tallystick"

    @property
    def shop(self) -> Path:
        return self.home / "shop"

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith(PACKAGES)}
        python = str(Path(sys.executable).resolve().parent)
        path = os.pathsep.join([python, "/usr/local/bin", "/usr/bin", "/bin"])
        return {**kept, "HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "TALLYSTICK_PORT": "0"}

    def files(self) -> set[str]:
        """Everything in the home but what pip keeps for next time."""
        every = (path.relative_to(self.home).as_posix() for path in self.home.rglob("*"))
        return {name for name in every if not f"{name}/".startswith((".cache/", "tallystick/"))}

    def terminal(self, *lines: str) -> tuple[int, str]:
        """A new terminal in the repository, in which these lines are typed one after the other."""
        done = subprocess.run(
            ["bash", "-c", "\n".join(["set -e", *lines])],
            cwd=self.shop,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


@pytest.fixture
def stranger() -> Generator[Stranger]:
    """In a short place: a hub's socket lies below it."""
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        person = Stranger(Path(folder))
        for name in (".config/pip/pip.conf", ".pip/pip.conf"):
            if (settings := Path.home() / name).is_file():
                (person.home / name).parent.mkdir(parents=True)
                shutil.copy(settings, person.home / name)
        (person.home / ".gitconfig").write_text("[user]\n\tname = You\n\temail = you@shop.example\n")
        person.shop.mkdir()
        (person.shop / "cart.py").write_text("total = 0\n")
        subprocess.run(["git", "init", "-q"], cwd=person.shop, env=person.env, check=True)
        yield person


@contextmanager
def made_up(person: Stranger) -> Generator[tuple[Terminal, list[str]]]:
    """`make up` at a terminal, until it says that it runs, and what it has said."""
    ready = ["make", ".venv/runtime-ready"]
    subprocess.run(ready, cwd=person.clone, env=person.env, capture_output=True, check=True)
    with at_terminal(["make", "up"], env={**person.env, "TERM": "dumb"}, cwd=person.clone) as terminal:
        terminal.until("has the stick: turn 1")
        terminal.type("\x03")  # Enough of the demo; the hub comes after it.
        said = terminal.until("Ctrl-C or `tally down` stops it.").splitlines()
        yield terminal, said


def line_after(said: list[str], beginning: str) -> str:
    found = next((line for line in said if line.startswith(beginning)), None)
    assert found, "\n".join(said)
    return found.removeprefix(beginning).strip()


def page_at(link: str) -> str:
    """What a browser sees that opens the link and is sent on to the page's own host name."""
    base = re.match(r"http://[^/]+", link)
    assert base
    hop, _ = opened(link)
    own = re.search(r'data-go="http://([^/"]+)', hop)
    assert own
    _, cookie = opened(link, Host=own[1])
    return opened(f"{base[0]}/", Host=own[1], Cookie=cookie.partition(";")[0])[0]


def opened(address: str, **headers: str) -> tuple[str, str]:
    """A page's text, and the cookie that came with it."""
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
        return answer.read().decode(), answer.headers["set-cookie"] or ""


def denied(person: Stranger, path_line: str, file: str) -> str:
    """What Claude Code is told that is about to edit a file: by the hook that was installed, called as it calls it."""
    settings = json.loads((person.home / ".claude/settings.json").read_text())
    hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    asked = {
        "session_id": "s1",
        "cwd": str(person.shop),
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": str(person.shop / file), "old_string": "0", "new_string": "1"},
    }
    line = f"printf '%s' {shlex.quote(json.dumps(asked))} | sh -c {shlex.quote(hook)}"
    return person.terminal(path_line, line)[1]


def test_from_a_clone_to_two_agents_and_out_again(stranger: Stranger) -> None:
    before = stranger.files()
    (claude := stranger.home / "bin/claude").parent.mkdir()
    claude.write_text("#!/bin/sh\n")
    claude.chmod(0o700)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(stranger.clone)], env=stranger.env, check=True)

    with made_up(stranger) as (hub, said):
        link = line_after(said, "Tallystick runs. Open its page:")
        assert [line for line in said if "http" in line] == [f"Tallystick runs. Open its page: {link}"]
        path = line_after(said, "To have `tally` in other terminals, type there:")
        setup = (path, f"export PATH=$PATH:{claude.parent}", "tally setup --yes")

        code, told = stranger.terminal(*setup)
        assert (code, "Claude Code: set up." in told) == (0, True), told
        turns = (
            (0, "tally --as ada join"),
            (0, "tally --as ada wait"),
            (0, "tally --as ada reserve cart.py"),
            (0, "tally --as bo join"),
            (5, "tally --as bo wait --timeout 0s"),
        )
        assert [stranger.terminal(path, line)[0] for _, line in turns] == [code for code, _ in turns]
        assert "cart.py is reserved by ada until" in denied(stranger, path, "cart.py")
        handed = stranger.terminal(
            path,
            "tally --as ada release cart.py",
            'tally --as ada release --status "The cart is there." --next-action "Add it up."',
            "tally --as bo wait",
        )
        assert (handed[0], "Handoff from ada" in handed[1]) == (0, True), handed
        assert "reserved" not in denied(stranger, path, "cart.py")
        page = page_at(link)
        assert ("lighthouse" in page, "shop" in page) == (True, True), page[:2000]

        left = stranger.terminal(path, "tally demo --remove", "tally setup --undo --yes")
        assert left[0] == 0, left
        assert hub.rest().splitlines()[-1] == "The hub has stopped."
        assert hub.process.returncode == 0
    shutil.rmtree(stranger.home / ".local/share/tallystick")
    shutil.rmtree(claude.parent)
    left_behind = stranger.files() - before - SHARED
    assert {name for name in left_behind if not name.startswith("shop/.git/")} == set()
    assert not list((stranger.shop / ".git/hooks").glob("pre-commit"))
