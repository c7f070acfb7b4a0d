"""The program that an agent runs, one process per message: a harness in its own headless manner, or any command."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from tallystick.harnesses.headless import programs, protocol
from tallystick.harnesses.headless.programs import PROGRAMS
from tallystick.harnesses.headless.protocol import HarnessRequest, HarnessStep, Outcome, ProcessStart, Reader, Sandbox
from tallystick.harnesses.install import plan
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
    argv: tuple[str, ...]
    sandbox: Sandbox = Sandbox.WORKSPACE_WRITE
    model: str | None = None
    servers: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    """Settings for our MCP server, where the harness would not wait for it."""

    @classmethod
    def of(
        cls,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str],
        harness: str | None = None,
        sandbox: Sandbox = Sandbox.WORKSPACE_WRITE,
        model: str | None = None,
    ) -> AgentProgram:
        """The program behind a command line; which harness it is follows from its name unless it is said."""
        if not argv:
            raise NoProgram
        found = shutil.which(argv[0], path=environ.get("PATH"))
        if found is None:
            raise NoProgram(f"'{argv[0]}' is no program that could be run.")
        if harness is not None and harness not in PROGRAMS:
            raise NoProgram(f"'{harness}' is no harness; there are {', '.join(PROGRAMS)}.")
        named = {program.command: slug for slug, program in PROGRAMS.items() if program.command}
        slug = harness or named.get(Path(argv[0]).name, PLAIN)
        absolute, servers = (str(Path(found).absolute()), *argv[1:]), plan.made_required(slug, environ=environ)
        return cls(slug=slug, argv=absolute, sandbox=sandbox, model=model, servers=servers)

    def start(self, action: ActionDelivery, context: Context, scratch: Path) -> tuple[ProcessStart, Reader]:
        """How to call it for an action, and who reads what it says; raises `CannotDo` where the harness has no way."""
        program = PROGRAMS[self.slug]
        request = self._request(action.text, context, scratch)
        match action.command:
            case "compact":
                start = programs.compact(self.slug, self.argv, request)
                if context.session_id is None:
                    raise programs.CannotDo("There is no context to compact yet.")
                return start, program.reader()
            case "review":
                return programs.review(self.slug, self.argv, request), program.reader()
            case _:
                request = self._request(rules.prompt_for(action, context), context, scratch)
                return program.start(self.argv, request), program.reader()

    def _request(self, prompt: str, context: Context, scratch: Path) -> HarnessRequest:
        return HarnessRequest(
            prompt=prompt,
            scratch=scratch,
            sandbox=self.sandbox,
            model=self.model,
            resume=context.session_id,
            keep=True,
            servers=self.servers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlace:
    """Where an agent's programs work, and for whom."""

    cwd: Path
    scratch: Path
    """A private folder for the files that a call needs."""
    environ: Mapping[str, str]
    room_id: str
    agent: str


def environment(place: AgentPlace, action: ActionDelivery) -> dict[str, str]:
    """What a run finds in its environment: on whose behalf it works, so that its own `tally` is the same agent."""
    told = {
        "TALLYSTICK_ACTION": action.action_id,
        "TALLYSTICK_CONTEXT": action.context_id,
        "TALLYSTICK_TASK": action.task_id,
    }
    return {**standing_environment(place), **told}


def standing_environment(place: AgentPlace) -> dict[str, str]:
    """The same for a process that serves many requests."""
    kept = {name: value for name, value in protocol.environment(place.environ).items() if name not in _SECRETS}
    return {**kept, "TALLYSTICK_ROOM": place.room_id, "TALLYSTICK_AGENT": place.agent}


def write_files(start: ProcessStart) -> None:
    for file, text in start.files.items():
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlessEngine:
    """One run of the program for each message."""

    program: AgentProgram
    place: AgentPlace

    keeps_words = False
    """A program either keeps a session, or is told what was said."""

    @property
    def slug(self) -> str:
        return self.program.slug

    def begin(self, action: ActionDelivery, context: Context, mail: Mail) -> ProgramRun:
        """Start it; raises `CannotDo` where the harness has no way, `OSError` where it cannot be started."""
        start, reader = self.program.start(action, context, self.place.scratch)
        env = environment(self.place, action)
        return ProgramRun(action, start, reader, cwd=self.place.cwd, env=env, mail=mail)

    def close(self) -> None:
        """Nothing outlives its message."""


class Run(Protocol):
    """A request at work, whatever carries it out."""

    action: ActionDelivery
    interrupts: list[ActionDelivery]
    """Who wants it stopped."""

    def stop(self) -> None: ...

    def outcome(self) -> Outcome:
        """What came of it; waits for its end."""
        ...


class AgentEngine(Protocol):
    """What an attached agent is run by."""

    @property
    def slug(self) -> str: ...

    @property
    def keeps_words(self) -> bool:
        """Whether what was said is kept beside a session."""
        ...

    def begin(self, action: ActionDelivery, context: Context, mail: Mail) -> Run: ...

    def close(self) -> None: ...


POLITE_SECONDS = 3.0
"""How long a program that is interrupted may take to end by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStepped:
    """The program did something."""

    run: Run
    step: HarnessStep
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBegan:
    """The harness keeps this conversation under this name from now on."""

    run: Run
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramExited:
    """A request is over; a program that runs for it alone is gone, with everything it started."""

    run: Run


Mail: TypeAlias = "Callable[[ProgramStepped | ProgramExited | SessionBegan], None]"


class ProgramRun:
    def __init__(
        self,
        action: ActionDelivery,
        start: ProcessStart,
        reader: Reader,
        *,
        cwd: Path,
        env: Mapping[str, str],
        mail: Mail,
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
