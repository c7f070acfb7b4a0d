"""The program that an agent runs, one process per message: a harness in its own headless manner, or any command."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tallystick.harnesses.headless import programs, protocol
from tallystick.harnesses.headless.programs import PROGRAMS
from tallystick.harnesses.headless.protocol import HarnessRequest, HarnessStep, Outcome, ProcessStart, Reader, Sandbox
from tallystick.harnesses.process_group import ProcessGroup
from tallystick.kernel.errors import InvalidInput
from tallystick.runtime import rules
from tallystick.runtime.rules import STEP_LIMIT, ActionDelivery, Context

PLAIN = "plain"
_SECRETS = frozenset({"TALLYSTICK_TOKEN"})


class NoProgram(InvalidInput):
    """There is no such program to attach."""

    hint = "Name a program after `--`: codex, claude, gemini, or any command that reads a prompt on stdin."


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProgram:
    slug: str
    """Which harness it speaks like; `plain` for any other command."""
    binary: tuple[str, ...]
    sandbox: Sandbox = Sandbox.WORKSPACE_WRITE
    model: str | None = None

    @classmethod
    def of(
        cls,
        argv: Sequence[str],
        *,
        path: str | None = None,
        harness: str | None = None,
        sandbox: Sandbox = Sandbox.WORKSPACE_WRITE,
        model: str | None = None,
    ) -> AgentProgram:
        """The program behind a command line; which harness it is follows from its name unless it is said."""
        if not argv:
            raise NoProgram
        found = shutil.which(argv[0], path=path)
        if found is None:
            raise NoProgram(f"'{argv[0]}' is no program that could be run.")
        if harness is not None and harness not in PROGRAMS:
            raise NoProgram(f"'{harness}' is no harness; there are {', '.join(PROGRAMS)}.")
        named = {program.command: slug for slug, program in PROGRAMS.items() if program.command}
        slug = harness or named.get(Path(argv[0]).name, PLAIN)
        return cls(slug=slug, binary=(str(Path(found).absolute()), *argv[1:]), sandbox=sandbox, model=model)

    def start(self, action: ActionDelivery, context: Context, scratch: Path) -> tuple[ProcessStart, Reader]:
        """How to call it for an action, and who reads what it says; raises `CannotDo` where the harness has no way."""
        program = PROGRAMS[self.slug]
        request = self._request(action.text, context, scratch)
        match action.command:
            case "compact":
                start = programs.compact(self.slug, self.binary, request)
                if context.session_id is None:
                    raise programs.CannotDo("There is no context to compact yet.")
                return start, program.reader()
            case "review":
                return programs.review(self.slug, self.binary, request), program.reader()
            case _:
                request = self._request(rules.prompt_for(action, context), context, scratch)
                return program.start(self.binary, request), program.reader()

    def _request(self, prompt: str, context: Context, scratch: Path) -> HarnessRequest:
        return HarnessRequest(
            prompt=prompt,
            scratch=scratch,
            sandbox=self.sandbox,
            model=self.model,
            resume=context.session_id,
            keep=True,
        )


def environment(environ: Mapping[str, str], room_id: str, agent: str, action: ActionDelivery) -> dict[str, str]:
    """What a run finds in its environment: on whose behalf it works, so that its own `tally` is the same agent."""
    told = {
        "TALLYSTICK_ROOM": room_id,
        "TALLYSTICK_AGENT": agent,
        "TALLYSTICK_ACTION": action.action_id,
        "TALLYSTICK_CONTEXT": action.context_id,
        "TALLYSTICK_TASK": action.task_id,
    }
    kept = {name: value for name, value in protocol.environment(environ).items() if name not in _SECRETS}
    return {**kept, **told}


def write_files(start: ProcessStart) -> None:
    for file, text in start.files.items():
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)


POLITE_SECONDS = 3.0
"""How long a program that is interrupted may take to end by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStepped:
    """The program did something."""

    run: ProgramRun
    step: HarnessStep
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramExited:
    """The program is gone, with everything it started."""

    run: ProgramRun


class ProgramRun:
    def __init__(
        self,
        action: ActionDelivery,
        start: ProcessStart,
        reader: Reader,
        *,
        cwd: Path,
        env: Mapping[str, str],
        mail: Callable[[ProgramStepped | ProgramExited], None],
    ) -> None:
        self.action = action
        self.interrupts: list[ActionDelivery] = []
        """Who wants it stopped."""
        self._reader, self._mail = reader, mail
        self._steps = 0
        self._ending: threading.Thread | None = None
        write_files(start)
        self._program = ProcessGroup(
            start.argv,
            stdin=start.stdin,
            cwd=cwd,
            env=env,
            on_line=self._line,
            on_end=lambda: mail(ProgramExited(run=self)),
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
                self._mail(ProgramStepped(run=self, step=sign, number=self._steps))
