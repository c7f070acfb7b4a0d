"""The agents' processes as the director sees them: started, cued, killed, and at the end all of them sent home."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tallystick.demo.agent import PYTHON
from tallystick.harnesses import processes
from tallystick.kernel.caller import Process, ProcessState
from tallystick.kernel.errors import Fault

_GOODBYE_S = 5.0


class StoryFailed(Fault):
    """The demo did not go as it should."""

    hint = "Run it again with --keep and read the agents' logs; then report this."


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    process: Process
    voice: IO[bytes]
    """A line on it begins the part; closing it ends the agent."""
    ears: IO[bytes]


class Cast:
    def __init__(self, *, folder: Path, workspace: Path, environ: Mapping[str, str], pace: float) -> None:
        self.folder = folder
        self._workspace = workspace
        self._environ = environ
        self._pace = pace
        self._actors: dict[str, Actor] = {}

    def start(self, part: str) -> None:
        name = part.partition("-")[0]
        command = [*PYTHON, "tallystick.demo.agent", part, str(self._workspace), str(self.folder / f"{name}.json")]
        with self._log(part).open("ab") as log:
            launcher = subprocess.Popen(
                [*command, str(self._pace)],
                cwd=self.folder,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        voice, ears = launcher.stdin, launcher.stdout
        if voice is None or ears is None:
            raise self.failed(part, "has no pipes")
        said = ears.readline()
        launcher.wait()
        process = processes.facts(int(said)) if said else None
        if process is None:
            raise self.failed(part, "did not start")
        self._actors[part] = Actor(process=process, voice=voice, ears=ears)

    def cue(self, part: str) -> None:
        actor = self._actors[part]
        try:
            actor.voice.write(b"go\n")
            actor.voice.flush()
        except BrokenPipeError:
            raise self.failed(part, "ended before its cue") from None

    def kill(self, part: str) -> int:
        """End an agent as the kernel would: without a last word. The result is its pid."""
        actor = self._actors.pop(part)
        os.kill(actor.process.pid, signal.SIGKILL)
        _close(actor)
        return actor.process.pid

    def check(self) -> None:
        """Complain about an agent that ended on its own."""
        for part, actor in self._actors.items():
            if processes.state(actor.process) is ProcessState.GONE:
                raise self.failed(part, "ended too early")

    def dismiss(self) -> None:
        """Let everybody go, and see to it that they went."""
        for actor in self._actors.values():
            _close(actor)
        until = time.monotonic() + _GOODBYE_S
        left = [actor.process for actor in self._actors.values()]
        while left and time.monotonic() < until:
            time.sleep(0.02)
            left = [process for process in left if processes.state(process) is ProcessState.ALIVE]
        for process in left:
            os.kill(process.pid, signal.SIGKILL)
        self._actors.clear()

    def failed(self, part: str, how: str) -> StoryFailed:
        lines = self._log(part).read_text("utf-8", "replace").splitlines()
        last = next((line.strip(" |") for line in reversed(lines) if any(map(str.isalpha, line))), "")
        return StoryFailed(f"{part} {how}. {last}".strip(), log=str(self._log(part)))

    def _log(self, part: str) -> Path:
        return self.folder / f"{part}.log"


def _close(actor: Actor) -> None:
    for pipe in (actor.voice, actor.ears):
        try:
            pipe.close()
        except BrokenPipeError:
            continue
