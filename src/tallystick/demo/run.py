"""Runs the story: starts, cues and kills the agents' processes, follows the ledger, and checks how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import IO

from tallystick.capabilities.agents.events import MemberAdded
from tallystick.capabilities.rooms.contract import Rooms
from tallystick.capabilities.turns.events import StickClaimed, StickReleased, StickTakenOver
from tallystick.demo import story
from tallystick.demo.agent import PYTHON, DemoRepository
from tallystick.demo.story import STICK, Cue, Seen, Story
from tallystick.demo.terminal import Stage, StopRequest
from tallystick.harnesses import processes
from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.hub.maintenance import keeper
from tallystick.kernel.caller import Caller, Process, ProcessState
from tallystick.kernel.errors import Fault
from tallystick.kernel.operation import as_record
from tallystick.ledger.contract import Events, Verified

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


class AgentProcesses:
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
                # Of its own, so that a Ctrl-C at the terminal ends nobody at a random point.
                process_group=0,
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
        try:
            os.kill(actor.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            raise self.failed(part, "ended before it was killed") from None
        finally:
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
            with suppress(ProcessLookupError):  # It went between the last look and this.
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


LAST_TURN = 5


_SILENCE_S = 30.0


class DemoRun:
    def __init__(
        self,
        hub: Hub,
        processes: AgentProcesses,
        stage: Stage,
        workspace: DemoRepository,
        *,
        stop: StopRequest,
        opened: Callable[[str], None],
    ) -> None:
        self._hub = hub
        self._stop = stop
        self._opened = opened
        self._processes = processes
        self._stage = stage
        self._workspace = workspace
        self._me = keeper()
        self.room_id = ""
        self.seen: list[Seen] = []

    def play(self) -> None:
        """See the play through to its last hand-over."""
        self._stage.wait("Three agents start, each with an MCP server of its own.")
        for part in story.CAST:
            self._stop.look()
            self._processes.start(part)
        self._stop.look()
        self._processes.cue("ada")
        # Not stopped before the room is known: its id is what it can be deleted by.
        self.room_id = self._room()
        self._opened(self.room_id)
        telling = Story()
        for event in self._events():
            self.seen.append(event)
            self._stop.look()
            if beat := telling.tell(event):
                self._stage.show(beat)
            self._react(event)
            if event.kind == StickReleased.kind and event.data["turn_id"] == LAST_TURN:
                return

    def _room(self) -> str:
        """The room that ada opens by joining."""
        until = time.monotonic() + _SILENCE_S
        while time.monotonic() < until:
            found = as_record(Rooms, self._ask("rooms.list", context_path=str(self._workspace.root)))
            if found.rooms:
                return found.rooms[0].room_id
            self._processes.check()
            time.sleep(0.05)
        raise self._processes.failed("ada", "did not open the room")

    def _events(self) -> Iterator[Seen]:
        cursor, heard = 0, time.monotonic()
        while time.monotonic() - heard < _SILENCE_S:
            self._stop.look()
            asked = self._ask("events.follow", room_id=self.room_id, since_seq=cursor, max_wait_ms=500)
            found = as_record(Events, asked)
            for envelope in found.events:
                heard = time.monotonic()
                yield Seen.of(envelope)
            cursor = found.cursor
            self._processes.check()
        raise StoryFailed(f"Nothing happened for {_SILENCE_S:.0f} s after event {cursor}.")

    def _react(self, event: Seen) -> None:
        if event.kind == StickClaimed.kind and event.data["turn_id"] == 1:
            self._processes.cue("bo")
            # Starting takes a moment, which the reader need not wait for later.
            self._processes.start("bo-again")
        elif event.kind == MemberAdded.kind and event.by == "bo":
            self._processes.cue("cleo")
        elif event.kind == StickTakenOver.kind:
            self._processes.cue("bo-again")
        elif event.data.get("cue") == Cue.HALF_WRITTEN:
            pid = self._processes.kill("bo")
            self._ask("rooms.join", room_id=self.room_id)
            self._ask("events.append", room_id=self.room_id, kind=story.KILLED, data={"agent": "bo", "pid": pid})
        elif event.data.get("cue") == Cue.HISTORY_READ:
            self._ask("notes.add", room_id=self.room_id, body=story.NOTE)

    def _ask(self, operation: str, **given: object) -> dict[str, object]:
        return self._hub.call(operation, given, self._me).to_data()


TOLD = (
    ("claim", 1, "ada"),
    ("release", 1, "ada"),
    ("claim", 2, "bo"),
    ("takeover", 3, "cleo"),
    ("pass", 3, "cleo"),
    ("claim", 4, "ada"),
    ("release", 4, "ada"),
    ("claim", 5, "bo"),
    ("release", 5, "bo"),
)


COMMITS = [
    "keeper: The light at Skerry Point",
    "ada: A test for the second round of flashes",
    "cleo: Flash again every twelve seconds",
    "ada: A fog horn that lets the village sleep",
    "bo: What happened tonight",
]


_HOW = {"claim": "claimed", "takeover": "took over", "release": "released", "pass": "passed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    events: int
    turns: Sequence[tuple[str, str, str, str]]
    """Turn, agent, how it began, how it ended."""
    handover_ms: int
    noticed_ms: int


def reckon(hub: Hub, me: Caller, room_id: str, seen: Sequence[Seen], workspace: DemoRepository) -> Ending:
    """Check everything the story claims; refuses to end well otherwise."""
    verified = as_record(Verified, hub.call("events.verify", {"room_id": room_id}, me).to_data())
    stick = [event for event in seen if event.kind.startswith(STICK)]
    claims: Mapping[str, Callable[[], bool]] = {
        "the ledger verifies": lambda: verified.ok,
        "the projections equal a fresh fold of the ledger": lambda: not maintenance.check(hub),
        "the stick went as told": lambda: tuple(map(_step, stick)) == TOLD,
        "the returned holder was refused": lambda: any(event.word("error") == "turn_mismatch" for event in seen),
        "a person's note is on record": lambda: any(event.word("body") == story.NOTE for event in seen),
        "the commits are the agents'": lambda: workspace.log() == COMMITS,
        "nothing is left uncommitted": lambda: not workspace.git("status", "--porcelain"),
        "the tests pass": workspace.tests_pass,
    }
    if broken := [claim for claim, holds in claims.items() if not holds()]:
        raise StoryFailed(f"Not so: {'; '.join(broken)}.")
    return Ending(
        events=verified.events,
        turns=_turns(stick),
        handover_ms=_handover(stick),
        noticed_ms=_noticed(seen),
    )


def _step(event: Seen) -> tuple[str, int, str]:
    return event.kind.removeprefix(STICK), event.turn_id, event.by


def _turns(stick: Sequence[Seen]) -> list[tuple[str, str, str, str]]:
    rows = list[tuple[str, str, str, str]]()
    for number in range(1, max(turn for _, turn, _ in TOLD) + 1):
        steps = [event for event in stick if event.data["turn_id"] == number]
        began, *rest = [_HOW[_step(event)[0]] for event in steps]
        to = steps[-1].word("reserved_for")
        ended = f"{rest[0]} to {to}" if rest else "killed at work"
        rows.append((str(number), steps[0].by, began, ended))
    return rows


def _handover(stick: Sequence[Seen]) -> int:
    """From a release or pass to the claim that follows it, in ms, by the hub's own clock."""
    waits = [after.at - before.at for before, after in pairwise(stick) if after.kind == f"{STICK}claim"]
    return round(median(waits))


def _noticed(seen: Sequence[Seen]) -> int:
    """From the kill to the moment when another agent knew of it, in ms."""
    killed = next(event.at for event in seen if event.kind == story.KILLED)
    return next(event.at for event in seen if event.kind == story.SAW) - killed
