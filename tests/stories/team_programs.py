"""The programs of a team: the real ones with a scripted model, or one scripted agent that speaks ACP in their place."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import npm
from tests.frame.checkout import ROOT
from tests.loopback.model import scripted
from tests.loopback.programs import Home
from tests.loopback.saying import Ask, Say, Saying, Use
from tests.stories.team import TeamLine, line_for
from tests.waiting import until

PACKAGES = {
    "claude": ("@agentclientprotocol/claude-agent-acp@0.99.1", "claude-agent-acp"),
    "codex": ("@agentclientprotocol/codex-acp@2.6.0", "codex-acp"),
    "gemini": ("@google/gemini-cli@0.61.0", "gemini"),
}
"""What each is installed from, and the program in it that speaks ACP."""
SHELLS: Sequence[tuple[str, str, Mapping[str, object]]] = (
    ("Bash", "command", {}),
    ("exec_command", "cmd", {"sandbox_permissions": "require_escalated", "justification": "it is asked for"}),
    ("run_shell_command", "command", {}),
)
"""The tool in which each runs a command, so that it asks a person first."""
AS_ROOT = {"IS_SANDBOX": "1"}
"""Claude Code would not start for root, which is who runs tests in a container."""


class TeamModel:
    """A script for a model: it wants to run each command once, and then says its line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ran = set[str]()

    def __call__(self, ask: Ask) -> Saying:
        line = line_for(ask.prompt)
        tool = next((each for each in SHELLS if each[0] in ask.tools), None)
        if line is None or tool is None:
            return Say(text="Nobody asked me that.")
        if line.once:
            self._wait(line)
        if not line.runs or line.asked in self._ran:
            return Say(text=line.says)
        self._ran.add(line.asked)
        name, field, more = tool
        return Use(tool=name, given={field: line.runs, **more})

    def _wait(self, line: TeamLine) -> None:
        """Until the file is there; whoever waits for nothing that comes is cut off by its harness."""
        until((self._folder / line.once).exists)


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """Programs in a folder for the PATH, and all that one of their conversations has heard."""

    bin: Path
    heard: Callable[[str], str]
    """Everything a conversation was told in which these words were said last."""


def scripted_team(home: Path) -> Team:
    """One scripted agent under the names of the three, and under one of its own."""
    state, bin = home / ".scripted", home.with_name("bin")
    state.mkdir(parents=True)
    for slug, program in (*((slug, program) for slug, (_, program) in PACKAGES.items()), ("scripted", "scripted")):
        environ = {"PYTHONPATH": str(ROOT), "HARNESS_STATE": str(state)}
        _install(bin / program, environ, sys.executable, "-m", "tests.stories.programs.team_agent", slug)

    def heard(last: str) -> str:
        told = [[json.loads(line).get("prompt", "") for line in _lines(file)] for file in state.glob("*.session")]
        return next("\n".join(prompts) for prompts in told if last in "".join(prompts[-1:]))

    return Team(bin=bin, heard=heard)


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if '"prompt"' in line]


@contextmanager
def real_team(home: Path, *slugs: str) -> Generator[Team]:
    """The real programs, with a scripted model for their only one."""
    bin = home.with_name("bin")
    programs = [npm.installed(package) / ".bin" / program for package, program in map(PACKAGES.__getitem__, slugs)]
    with scripted(TeamModel(home / "shop")) as model:
        for program in programs:
            _install(bin / program.name, {**Home(home, model).env, **AS_ROOT}, str(program))

        def heard(last: str) -> str:
            return next(ask.prompt for ask in reversed(model.asked) if last in ask.prompt)

        yield Team(bin=bin, heard=heard)


def _install(script: Path, environ: Mapping[str, str], *argv: str) -> None:
    script.parent.mkdir(parents=True, exist_ok=True)
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environ.items())
    script.write_text(f'#!/bin/sh\n{exports}exec {shlex.join(argv)} "$@"\n')
    script.chmod(0o755)
