"""One slice: start the executor, report its progress to the hub, and see that it ends; in time, or by force.

An executor's own notes are all reported, its steps only every so often.
"""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from tallystick.harnesses.headless.protocol import (
    Began,
    CommandEnded,
    Failed,
    HarnessAnswer,
    HarnessStep,
    MessageFolder,
    ProcessStart,
    Reader,
    Sign,
    Told,
)
from tallystick.harnesses.process_group import ProcessGroup
from tallystick.kernel.errors import TallyError
from tallystick.runner import rules
from tallystick.runner.job_source import HeldJob, JobSource, StopReason, claim_lost
from tallystick.runner.rules import ExecutorNote, ManagerWord


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
