"""Which executors this machine has, how each is called for one slice of a job, and the slice itself.

A slice starts its executor, reports the progress to the hub, and sees that it ends; in time, or by force. An executor's
own notes are all reported, its steps only every so often.
"""

from __future__ import annotations

import json
import queue
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

from tallystick.capabilities.jobs.contract import ExecutorName, ProfileName
from tallystick.harnesses.headless import protocol
from tallystick.harnesses.headless.programs import PROGRAMS
from tallystick.harnesses.headless.protocol import (
    Began,
    CommandEnded,
    Failed,
    HarnessAnswer,
    HarnessRequest,
    HarnessStep,
    MessageFolder,
    ProcessStart,
    Reader,
    Sandbox,
    Sign,
    Told,
)
from tallystick.harnesses.install import plan
from tallystick.harnesses.process_group import ProcessGroup
from tallystick.kernel.errors import InvalidInput, TallyError
from tallystick.runner import prompt, rules
from tallystick.runner.job_source import HeldJob, JobSource, StopReason, claim_lost
from tallystick.runner.rules import ClaimedJob, ExecutorNote, ManagerWord, Prior, Slice, Surroundings

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


def executors_found(
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
        binary = _executor_command(command, environ)
        there[COMMAND] = Executor(name=COMMAND, binary=binary, sandbox=sandbox, stdin_notes=stdin_notes)
    return there


def executor_chosen(there: Mapping[str, Executor], wanted: Sequence[str]) -> dict[str, Executor]:
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


def _executor_command(text: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        program, *rest = shlex.split(text)
    except ValueError as wrong:
        raise NoExecutor(f"The command {text!r} cannot be read: {wrong}.") from None
    path = shutil.which(program, path=environ.get("PATH"))
    if path is None:
        raise NoExecutor(f"The command {program!r} is no program that could be run.")
    return (str(Path(path).absolute()), *rest)


class Progress:
    """Listens to one slice. A report that is refused because the job is lost stops the slice."""

    def __init__(self, source: JobSource, held: HeldJob, every_s: float, tell: Callable[[str], None]) -> None:
        self._source, self._held, self._every_s, self._tell = source, held, every_s, tell
        self._due = time.monotonic() + every_s
        self._steps = 0

    def __call__(self, sign: Sign) -> None:
        match sign:
            case Began() | CommandEnded():
                pass
            case Told(data=data):
                if (note := rules.read_note(data)) is not None:
                    self._report(note)
            case HarnessStep(text=text, ok=ok):
                self._step(text if ok else f"{text} (failed)")

    def _step(self, text: str) -> None:
        self._steps += 1
        self._held.doing = text
        if time.monotonic() < self._due:
            return
        more = f" ({self._steps} steps since the last report)" if self._steps > 1 else ""
        self._report(ExecutorNote(message=f"{text}{more}"))
        self._steps, self._due = 0, time.monotonic() + self._every_s

    def _report(self, note: ExecutorNote) -> None:
        if self._held.stopped:
            return
        try:
            self._source.report(self._held.job, note)
        except TallyError as refusal:
            self._tell(f"{self._held.job.job_id}: {refusal.message}")
            if claim_lost(refusal):
                self._held.stop(StopReason.LOST)


FROM_MANAGER = "A message of the manager, which goes before the job's own text:"


def _nobody(seq: int) -> None:
    """Nobody wants to know."""


POLITE_S = 3.0
"""How long a slice that is no longer wanted may take to put its things away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceStopped:
    why: StopReason


SliceEnd: TypeAlias = "HarnessAnswer | Failed | SliceStopped"


class _Exited:
    """The program is gone."""


_Item: TypeAlias = "Sign | _Exited | StopReason | ManagerWord"


class MessageChannel(Protocol):
    """A way to tell a running agent something."""

    def give(self, number: int, text: str) -> None: ...

    @property
    def taken(self) -> int:
        """The number of the newest that it was given."""
        ...


class StandardInput:
    """A program that reads on: a line of JSON for each message."""

    def __init__(self, program: ProcessGroup) -> None:
        self._program = program
        self.taken = 0

    def give(self, number: int, text: str) -> None:
        note = {"kind": "manager", "seq": number, "message": text}
        self._program.send(json.dumps(note) + "\n")
        self.taken = number


class OnDelivered(Protocol):
    def __call__(self, seq: int) -> None:
        """The agent has been given the manager's messages up to this one."""
        ...


def run_slice(
    start: ProcessStart,
    reader: Reader,
    held: HeldJob,
    *,
    cwd: Path,
    env: Mapping[str, str],
    limit_s: float,
    on_sign: Callable[[Sign], None],
    messages: MessageFolder | None = None,
    heard_seq: int = 0,
    on_delivered: OnDelivered = _nobody,
) -> SliceEnd:
    """Callbacks are called in this thread. A slice that is over `limit_s` is killed on the spot with all it started.

    What the manager says after `heard_seq` is given to the agent while it works, where there is a way to.
    """
    for file, text in start.files.items():
        file.write_text(text, "utf-8")
    items = queue.SimpleQueue[_Item]()
    try:
        program = ProcessGroup(
            start.argv,
            stdin=start.stdin,
            stdin_open=start.stdin_open,
            cwd=cwd,
            env=env,
            on_line=lambda line: _put(items, reader, line),
            on_end=lambda: items.put(_Exited()),
        )
    except (OSError, ValueError) as wrong:
        return Failed(why=f"could not be started: {wrong}")
    delivery = StandardInput(program) if start.stdin_open else messages
    held.listen(items.put)
    if delivery:
        held.listen_words(items.put, heard_seq)
    try:
        return _follow(program, reader, items, limit_s, _Listener(on_sign, on_delivered, delivery, heard_seq))
    finally:
        held.listen(None)
        held.listen_words(None)
        program.end(0)


class _Listener:
    """Passes on what the program says, and to it what the manager says."""

    def __init__(
        self,
        on_sign: Callable[[Sign], None],
        on_delivered: OnDelivered,
        delivery: MessageChannel | None,
        heard_seq: int,
    ) -> None:
        self._on_sign, self._on_delivered, self._delivery = on_sign, on_delivered, delivery
        self._delivered = heard_seq

    def __call__(self, item: Sign | ManagerWord) -> None:
        if isinstance(item, ManagerWord):
            if self._delivery and item.seq > self._delivered:
                self._delivery.give(item.seq, f"{FROM_MANAGER} {item.text}")
        else:
            self._on_sign(item)
        self.settle()

    def settle(self) -> None:
        """Say so when the agent has been given something."""
        if self._delivery and (seq := self._delivery.taken) > self._delivered:
            self._delivered = seq
            self._on_delivered(seq)


def _put(items: queue.SimpleQueue[_Item], reader: Reader, line: str) -> None:
    for sign in reader.feed(line):
        items.put(sign)


def _follow(
    program: ProcessGroup,
    reader: Reader,
    items: queue.SimpleQueue[_Item],
    limit_s: float,
    listener: _Listener,
) -> SliceEnd:
    deadline = time.monotonic() + limit_s
    while True:
        item: _Item | None = None
        with suppress(queue.Empty):
            item = items.get(timeout=max(0.0, deadline - time.monotonic()))
        match item:
            case None:
                program.end(0)
                return Failed(why=f"killed after {limit_s:.0f} seconds without an answer")
            case StopReason():
                program.end(POLITE_S)
                return SliceStopped(why=item)
            case _Exited():
                listener.settle()
                return reader.end(program.wait(), program.errors)
            case _:
                listener(item)
