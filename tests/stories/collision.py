"""The story in README: the real Claude Code and Codex want the same file; one is refused, and gets a handoff.

`python -m tests.stories.collision FILE.svg` plays it against scripted models and records the terminals.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tests.loopback.model import scripted
from tests.loopback.programs import Home, installed, known
from tests.loopback.saying import Ask, Say, Saying, Script, Use
from tests.stories.animation import paced, svg
from tests.stories.cast import Cue, Hand, played
from tests.stories.terminals import Pane, Recording, recorded
from tests.surfaces.cli.place import TALLY

COLUMNS, ROWS = 98, (21, 21, 10)
TITLES = ("Claude Code", "Codex", "tally events --follow")
LABEL = "Claude Code and Codex want the same file: one is refused, waits, and goes on from the other's handoff"
HOME = "/home/you"
CART = '''def total(prices):
    """What the customer pays."""
    return sum(prices) / len(prices)
'''
FIXED = "    return sum(prices)\n"
STATUS = "total() no longer divides by the number of prices. cart.py is yours."
NEXT = "Round it to cents and add a test."
Moment: TypeAlias = tuple[float, tuple[tuple[str, ...], ...]]
_SPINS = re.compile(r"\(\d+s\b|esc to interrupt|…\s*$|Tip:")
PATCH = """\
apply_patch <<'EOF'
*** Begin Patch
*** Update File: cart.py
@@
-    return sum(prices){old}
+    return round(sum(prices), 2)
*** End Patch
EOF"""


@dataclass
class Story:
    root: Path
    pause: float
    """Seconds before each step, for whoever watches."""
    reserved: Cue = field(default_factory=Cue)
    refused: Cue = field(default_factory=Cue)
    ended: Cue = field(default_factory=Cue)
    done: Cue = field(default_factory=Cue)

    def claude(self, _: Hand) -> Iterator[Saying]:
        yield from self._claude_says("tally wait")
        yield from self._claude_says("tally reserve cart.py")
        self.reserved.give()
        yield self._step(Use(tool="Read", given={"file_path": str(self.root / "cart.py")}))
        self.refused.wait()
        given = {"old_string": CART.splitlines()[-1], "new_string": FIXED.rstrip()}
        yield self._step(Use(tool="Edit", given={"file_path": str(self.root / "cart.py"), **given}))
        yield from self._claude_says("tally release cart.py")
        yield from self._claude_says(f'tally release --status "{STATUS}" --next-action "{NEXT}"')
        self.ended.give()
        yield Say(text="total() is mended, and Codex has the turn.")

    def codex(self, hand: Hand) -> Iterator[Saying]:
        self.reserved.wait()
        yield self._shell(PATCH.format(old=" / len(prices)"))
        self.refused.give()
        yield self._shell("tally wait")
        while "It is your turn" not in hand.result:
            yield self._shell("tally wait")
        yield self._shell("tally reserve cart.py")
        yield self._shell(PATCH.format(old=""))
        yield self._shell('tally release --status "Rounded to cents." --next-action "A test for total()."')
        self.done.give()
        yield Say(text="total() is rounded to cents. I went on from what Claude Code left me.")

    def _claude_says(self, command: str) -> Iterator[Saying]:
        yield self._step(Use(tool="Bash", given={"command": command, "description": "Tallystick"}))

    def _shell(self, command: str) -> Saying:
        return self._step(Use(tool="exec_command", given={"cmd": command, "yield_time_ms": 30_000}))

    def _step(self, use: Use) -> Use:
        time.sleep(self.pause)
        return use


def once_it_has_tools(script: Script) -> Script:
    """Without tools a harness asks for a title or the like, which is no part of the story."""

    def answered(ask: Ask) -> Saying:
        return script(ask) if ask.tools else Say(text="A cart")

    return answered


@contextmanager
def playing(folder: Path, pause: float) -> Generator[tuple[Story, Recording]]:
    """Both programs at work in a repository below `folder`, and what their terminals show."""
    root = folder / "shop"
    root.mkdir(parents=True)
    (root / "cart.py").write_text(CART)
    who = ("-c", "user.name=You", "-c", "user.email=you@shop.example")
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-q", "-m", "The cart"]):
        subprocess.run(["git", *args], cwd=root, check=True)
    story = Story(root, pause)
    with (
        scripted(once_it_has_tools(played(story.claude))) as one,
        scripted(once_it_has_tools(played(story.codex))) as other,
    ):
        homes = Home(folder, one), Home(folder, other)
        path = f"{Path(TALLY).parent}:{homes[0].env['PATH']}"
        # Codex runs commands in a login shell, which makes its own PATH.
        (folder / ".profile").write_text(f"export PATH={path}\n")
        envs = [{**home.env, "PATH": path, "TMPDIR": "/var/tmp"} for home in homes]
        for harness in ("claude", "codex"):
            subprocess.run(
                [TALLY, "install", harness, "--hooks"], cwd=root, env=envs[0], check=True, capture_output=True
            )
            known(harness, folder, root)
        claude = [
            str(installed("claude")),
            "--allowedTools",
            "Bash(tally:*),Read,Edit",
            "--",
            "Mend total() in cart.py.",
        ]
        free = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
        codex = [str(installed("codex")), *free, "Round total() in cart.py to cents."]
        until = "until tally state >/dev/null 2>&1; do sleep 0.5; done; clear; exec tally events --follow"
        argvs = (claude, codex, ["sh", "-c", until])
        panes = [
            Pane(title=title, rows=rows, argv=argv, env=env)
            for title, rows, argv, env in zip(TITLES, ROWS, argvs, [*envs, envs[0]], strict=True)
        ]
        with recorded(panes, COLUMNS, root) as found:
            yield story, found


def record(target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        home = Path(folder) / "you"
        with playing(home, pause=1.5) as (story, found):
            story.done.wait()
            time.sleep(4)
        looks = [(look.at, tuple(_shown(screen, home) for screen in look.screens)) for look in found.looks]
    target.write_text(svg(paced(_without_spinners(looks)), TITLES, COLUMNS, ROWS, LABEL))


def _without_spinners(looks: list[Moment]) -> list[Moment]:
    """Only looks that show something else than how long a model has been thinking."""
    found, before = list[Moment](), None
    for at, screens in looks:
        now = [[line for line in map(_plain, screen) if not _SPINS.search(line)] for screen in screens]
        if now != before:
            found.append((at, screens))
        before = now
    return found


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[\d;:]*m", "", line)


def _shown(screen: tuple[str, ...], home: Path) -> tuple[str, ...]:
    return tuple(re.sub(re.escape(str(home)), HOME, line) for line in screen)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
