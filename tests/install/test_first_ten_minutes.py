"""The first ten minutes of a stranger: a bare home, a clone, `make up`, a second terminal, two agents, and out again.

Everything is used as it is printed: the sign-in link, the line for the PATH, the hook that was installed.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.install.stranger import SHARED, Stranger
from tests.surfaces.cli.place import Terminal, at_terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


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
    stranger.cloned()

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
