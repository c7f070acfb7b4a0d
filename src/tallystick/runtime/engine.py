"""The program that an agent runs, one call per message: a harness in its own headless manner, or any command."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tallystick.harnesses.headless import programs, protocol
from tallystick.harnesses.headless.programs import PROGRAMS
from tallystick.harnesses.headless.protocol import HarnessRequest, ProcessStart, Reader, Sandbox
from tallystick.kernel.errors import InvalidInput
from tallystick.runtime import memory
from tallystick.runtime.memory import Context
from tallystick.runtime.model import Errand

PLAIN = "plain"
_SECRETS = frozenset({"TALLYSTICK_TOKEN"})


class NoProgram(InvalidInput):
    """There is no such program to attach."""

    hint = "Name a program after `--`: codex, claude, gemini, or any command that reads a prompt on stdin."


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
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
    ) -> Engine:
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

    def start(self, errand: Errand, context: Context, scratch: Path) -> tuple[ProcessStart, Reader]:
        """How to call it for an errand, and who reads what it says; raises `CannotDo` where the harness has no way."""
        program = PROGRAMS[self.slug]
        request = self._request(errand.text, context, scratch)
        match errand.command:
            case "compact":
                start = programs.compact(self.slug, self.binary, request)
                if context.session_id is None:
                    raise programs.CannotDo("There is no context to compact yet.")
                return start, program.reader()
            case "review":
                return programs.review(self.slug, self.binary, request), program.reader()
            case _:
                request = self._request(memory.prompt(errand, context), context, scratch)
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


def environment(environ: Mapping[str, str], room_id: str, agent: str, errand: Errand) -> dict[str, str]:
    """What a run finds in its environment: on whose behalf it works, so that its own `tally` is the same agent."""
    told = {
        "TALLYSTICK_ROOM": room_id,
        "TALLYSTICK_AGENT": agent,
        "TALLYSTICK_ACTION": errand.action_id,
        "TALLYSTICK_CONTEXT": errand.context_id,
        "TALLYSTICK_TASK": errand.task_id,
    }
    kept = {name: value for name, value in protocol.environment(environ).items() if name not in _SECRETS}
    return {**kept, **told}


def write_files(start: ProcessStart) -> None:
    for file, text in start.files.items():
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
