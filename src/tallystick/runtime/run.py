"""One run of the program for one errand, as a process on a leash; what it does comes back as mail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tallystick.harnesses.headless.protocol import HarnessStep, Outcome, ProcessStart, Reader
from tallystick.harnesses.process_group import ProcessGroup
from tallystick.runtime import engine
from tallystick.runtime.model import Errand
from tallystick.runtime.rules import STEP_LIMIT

POLITE_SECONDS = 3.0
"""How long a program that is interrupted may take to end by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """The program did something."""

    run: Run
    step: HarnessStep
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """The program is gone, with everything it started."""

    run: Run


class Run:
    def __init__(
        self,
        errand: Errand,
        start: ProcessStart,
        reader: Reader,
        *,
        cwd: Path,
        env: Mapping[str, str],
        mail: Callable[[Stepped | Over], None],
    ) -> None:
        self.errand = errand
        self.interrupts: list[Errand] = []
        """Who wants it stopped."""
        self._reader, self._mail = reader, mail
        self._steps = 0
        self._ending: threading.Thread | None = None
        engine.write_files(start)
        self._program = ProcessGroup(
            start.argv, stdin=start.stdin, cwd=cwd, env=env, on_line=self._line, on_end=lambda: mail(Over(run=self))
        )

    @property
    def pid(self) -> int:
        return self._program.pid

    def stop(self) -> None:
        """Ask the whole group to end, and kill it when it does not; `Over` comes either way."""
        if self._ending is None:
            self._ending = threading.Thread(target=self._program.end, args=(POLITE_SECONDS,), daemon=True)
            self._ending.start()

    def outcome(self) -> Outcome:
        """What came of it; waits for its end."""
        code = self._program.wait()
        return self._reader.end(code, self._program.errors)

    def _line(self, line: str) -> None:
        for sign in self._reader.feed(line):
            if isinstance(sign, HarnessStep) and self._steps < STEP_LIMIT:
                self._steps += 1
                self._mail(Stepped(run=self, step=sign, number=self._steps))
