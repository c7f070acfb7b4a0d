"""Which executors this machine has, and how each is called for one slice of a job."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from tallystick.capabilities.jobs.contract import ExecutorName, ProfileName
from tallystick.harnesses.headless import protocol
from tallystick.harnesses.headless.programs import PROGRAMS
from tallystick.harnesses.headless.protocol import HarnessRequest, ProcessStart, Reader, Sandbox
from tallystick.harnesses.install import plan
from tallystick.kernel.errors import InvalidInput
from tallystick.runner import prompt, rules
from tallystick.runner.rules import ClaimedJob, Prior, Slice, Surroundings

HARNESSES: Mapping[ExecutorName, str] = MappingProxyType(
    {"codex": "codex", "claude_code": "claude-code", "gemini": "gemini"}
)
"""Executors that are harnesses, by the name each has there."""
HOOKED: frozenset[ExecutorName] = frozenset({"codex", "claude_code"})
"""Those whose hooks give the agent a message between two of its steps."""
MESSAGES = "messages"
"""The folder, in a slice's private one, where their hooks look."""
COMMAND: ExecutorName = "command"
EXECUTORS: tuple[ExecutorName, ...] = (*HARNESSES, COMMAND)
PROFILES: tuple[ProfileName, ...] = ("fast", "deep", "audit", "xhigh")
EFFORT: Mapping[str, Literal["high", "xhigh"]] = {"deep": "high", "audit": "high", "xhigh": "xhigh"}
"""How hard a harness is told to think for a profile; `fast` is whatever its user set."""
BINARIES: Mapping[ExecutorName, str] = MappingProxyType(
    {"codex": "TALLYSTICK_CODEX_BIN", "claude_code": "TALLYSTICK_CLAUDE_BIN", "gemini": "TALLYSTICK_GEMINI_BIN"}
)
COMMAND_VARIABLE = "TALLYSTICK_RUNNER_COMMAND"

_SECRETS = frozenset({"TALLYSTICK_TOKEN", "TALLYSTICK_AGENT", "TALLYSTICK_DATABASE_URL", "PGPASSWORD", "PGPASSFILE"})


class NoExecutor(InvalidInput):
    """There is nothing here that could carry out a job."""

    hint = (
        "Install codex, claude or gemini, name one with --codex-bin, --claude-bin or --gemini-bin, or give --command."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    name: ExecutorName
    binary: tuple[str, ...]
    sandbox: Sandbox = Sandbox.WORKSPACE_WRITE
    servers: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    """Settings for our MCP server, where the harness would not wait for it."""
    stdin_notes: bool = False
    """Whether a plain program reads on: the manager's messages come to its standard input as well."""

    @property
    def takes_messages(self) -> bool:
        """Whether an agent that is at work can be told something."""
        return self.name in HOOKED or self.stdin_notes

    def start(
        self, job: ClaimedJob, slice_: Slice, *, pack: str, prior: Prior, around: Surroundings, scratch: Path
    ) -> tuple[ProcessStart, Reader]:
        """How to call it, and who reads what it says."""
        program = PROGRAMS[HARNESSES.get(self.name, "plain")]
        text = (
            _job_object(job, slice_, prior, around)
            if self.name == COMMAND
            else prompt.build(job, slice_, pack=pack, prior=prior, around=around)
        )
        request = HarnessRequest(
            prompt=text,
            scratch=scratch,
            sandbox=self.sandbox,
            schema=rules.ANSWER_SCHEMA,
            model=job.model,
            effort=EFFORT.get(job.profile),
            messages=scratch / MESSAGES if self.name in HOOKED else None,
            servers=self.servers,
        )
        start = program.start(self.binary, request)
        return replace(start, stdin_open=self.stdin_notes), program.reader()


def _job_object(job: ClaimedJob, slice_: Slice, prior: Prior, around: Surroundings) -> str:
    """What a plain program reads on stdin: one JSON object on one line."""
    whole = {
        **{name: value for name, value in asdict(job).items() if name != "meta"},
        "meta": dict(job.meta),
        "slice": asdict(slice_),
        "prior": asdict(prior),
        "manager": [{**asdict(word), "new": word.seq > around.read_seq} for word in around.words],
        "artifacts": list(around.artifacts),
        "task": around.task,
        "anchor": around.anchor,
        "thread": [
            {"seq": each.seq, "kind": each.kind, "message": each.message, "refs": each.refs} for each in around.thread
        ],
    }
    return json.dumps(whole) + "\n"


def found(
    environ: Mapping[str, str], given: Mapping[str, str], sandbox: Sandbox, *, stdin_notes: bool = False
) -> dict[str, Executor]:
    """Every executor this machine has; `given` holds what flags say, which goes before the environment."""
    there = dict[str, Executor]()
    for name, variable in BINARIES.items():
        named = given.get(name) or environ.get(variable) or ""
        binary = shutil.which(named or PROGRAMS[HARNESSES[name]].command, path=environ.get("PATH"))
        if binary:
            servers = plan.made_required(name, environ=environ)
            there[name] = Executor(name=name, binary=(binary,), sandbox=sandbox, servers=servers)
        elif named:
            raise NoExecutor(f"{named} is no program that could be run as {name}.")
    if command := given.get(COMMAND) or environ.get(COMMAND_VARIABLE):
        binary = _command(command, environ)
        there[COMMAND] = Executor(name=COMMAND, binary=binary, sandbox=sandbox, stdin_notes=stdin_notes)
    return there


def chosen(there: Mapping[str, Executor], wanted: Sequence[str]) -> dict[str, Executor]:
    """Those that were asked for, all of them when nobody asked."""
    for name in wanted:
        if name not in EXECUTORS:
            raise NoExecutor(f"There is no executor '{name}'; there are {', '.join(EXECUTORS)}.")
        if name not in there:
            raise NoExecutor(f"The executor '{name}' was asked for and is not here.")
    if not there:
        raise NoExecutor
    return {name: there[name] for name in wanted or there}


def environment(environ: Mapping[str, str], job: ClaimedJob, runner_id: str) -> dict[str, str]:
    """What a slice finds in its environment: who it is working for, and none of the runner's own secrets."""
    told = {
        "TALLYSTICK_ROOM": job.room_id,
        "TALLYSTICK_JOB": job.job_id,
        "TALLYSTICK_RUNNER": runner_id,
        "TALLYSTICK_CLAIM_REVISION": str(job.claim_revision),
    }
    kept = {name: value for name, value in protocol.environment(environ).items() if name not in _SECRETS}
    return {**kept, **told}


def _command(text: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        program, *rest = shlex.split(text)
    except ValueError as wrong:
        raise NoExecutor(f"The command {text!r} cannot be read: {wrong}.") from None
    path = shutil.which(program, path=environ.get("PATH"))
    if path is None:
        raise NoExecutor(f"The command {program!r} is no program that could be run.")
    return (str(Path(path).absolute()), *rest)
