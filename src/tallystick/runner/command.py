"""The program: find out what this machine can do and which room is meant, then keep going until told to stop."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tallystick.capabilities.jobs.events import JobCanceled, JobQuestioned
from tallystick.capabilities.jobs.views import RadarJob
from tallystick.capabilities.rooms.contract import ListRooms, Rooms
from tallystick.client import typed
from tallystick.client.nearest import Nearest
from tallystick.commandline import output
from tallystick.harnesses.headless.protocol import Sandbox
from tallystick.harnesses.install import plan
from tallystick.kernel import ids
from tallystick.kernel.errors import Conflict, InvalidField, NoRoomHere, NotFound, TallyError, Unavailable
from tallystick.ledger.contract import Envelope
from tallystick.runner import executors
from tallystick.runner.job_run import JobRun, RunnerSettings
from tallystick.runner.job_source import Abilities, HeldJob, JobSource, LeaseKeeper, StopReason
from tallystick.runner.options import RunnerOptions
from tallystick.runner.prompt import Profile
from tallystick.runner.rules import JobLimits, ManagerWord

PAUSE_S = 1.0
"""After something that a moment may mend."""
HEAR_MS = 1000
"""How long one wait for managers' words lasts; a runner that leaves ends after it."""


class _Said(msgspec.Struct):
    """What is wanted of an event of a job."""

    job_id: str
    message: str = ""
    refs: list[str] = []


class Supervisor:
    def __init__(self, source: JobSource, settings: RunnerSettings, tell: Callable[[str], None]) -> None:
        self._source, self._settings, self._tell = source, settings, tell
        self._leases = LeaseKeeper(source, settings.heartbeat_s, tell)
        self._threads: list[threading.Thread] = []
        self._freed = threading.Event()
        self._leaving = threading.Event()
        self._waiting: set[str] = set()
        """Jobs that were given back to wait for an answer."""
        self._claimed: set[str] = set()
        """Jobs that this runner has had: a question may be heard after its job was given back."""

    def leave(self, *_signal: object) -> None:
        """Ask the runner to end; a signal handler, so it only raises flags."""
        self._leaving.set()
        self._freed.set()

    def run(self, *, once: bool = False) -> None:
        """Work until told to leave; with `once`, until there is nothing to do."""
        self._leases.start()
        stopper = threading.Thread(target=self._stop_jobs, name="stopper", daemon=True)
        stopper.start()
        listener: threading.Thread | None = None
        try:
            cursor = self._source.head()
            listener = threading.Thread(target=self._hear, args=[cursor], name="listener", daemon=True)
            listener.start()
            while not self._leaving.is_set():
                claimed = self._fill()
                if once and not claimed and not self._busy and not self._awaited():
                    break
                cursor = self._wait(cursor, idle=not claimed)
        finally:
            self.leave()
            stopper.join()
            if listener:
                listener.join()
            for thread in self._threads:
                thread.join()
            self._leases.close()

    @property
    def _busy(self) -> int:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        return len(self._threads)

    def _fill(self) -> bool:
        """Claim until there is no room or no job; tells whether there is no room."""
        while self._busy < self._settings.max_parallel:
            job = None
            try:
                job = self._source.claim()
            except NotFound:
                raise
            except Conflict as refusal:
                # Our lease ran out while we stood still, or an earlier runner of this name still has its jobs.
                self._tell(refusal.message)
                self._leases.show()
            except Unavailable as wrong:
                self._tell(wrong.message)
            if job is None:
                return False
            held = HeldJob(job)
            self._leases.take(held)
            self._claimed.add(job.job_id)
            thread = threading.Thread(target=self._work, args=[held], name=job.job_id)
            self._threads.append(thread)
            thread.start()
        return True

    def _wait(self, cursor: int, *, idle: bool) -> int:
        if idle and self._busy < self._settings.max_parallel:
            try:
                return self._source.await_work(cursor, self._settings.poll_ms)
            except Unavailable as wrong:
                self._tell(wrong.message)
        self._freed.wait(PAUSE_S)
        if not self._leaving.is_set():
            self._freed.clear()
        return cursor

    def _work(self, held: HeldJob) -> None:
        try:
            JobRun(self._source, self._settings, held, self._tell).run()
        except TallyError as wrong:
            self._tell(f"{held.job.job_id}: {wrong.message}")
        except Exception:  # noqa: BLE001 - the outermost of a thread: one job that fails ends no other
            for line in (f"{held.job.job_id}: a fault of the runner", *traceback.format_exc().splitlines()):
                self._tell(line)
        finally:
            if held.waits:
                self._waiting.add(held.job.job_id)
            self._leases.drop(held)
            self._freed.set()

    def _awaited(self) -> bool:
        """Whether there will be something to do: a job that was given back waits for its answer, or just did."""
        before = self._waiting
        self._waiting = {job_id for job_id in before if self._source.waits(job_id)}
        return bool(before)

    def _hear(self, cursor: int) -> None:
        """Tell jobs at once what concerns them, and this terminal what they ask."""
        while not self._leaving.is_set():
            try:
                got = self._source.hear(cursor, HEAR_MS)
            except TallyError as wrong:
                self._tell(f"cannot hear what managers say: {wrong.message}")
                self._leaving.wait(PAUSE_S)
                continue
            cursor = got.cursor
            for event in got.events:
                self._heard(event)

    def _heard(self, event: Envelope) -> None:
        said = msgspec.convert(event.data, _Said)
        if event.kind == JobQuestioned.kind and said.job_id in self._claimed:
            self._tell(f"{said.job_id} asks: {said.message}")
            self._tell(f'answer with: tally radar --reply {said.job_id} "your answer"')
        held = next((each for each in self._leases.held_jobs if each.job.job_id == said.job_id), None)
        if held is None:
            return
        if event.kind == JobCanceled.kind:
            self._tell(f"{said.job_id} was canceled")
            held.stop(StopReason.LOST)
        elif event.kind != JobQuestioned.kind:
            ref = f"{said.job_id}@{event.seq}"
            held.hear(ManagerWord(seq=event.seq, ref=ref, message=said.message, refs=tuple(said.refs)))

    def _stop_jobs(self) -> None:
        self._leaving.wait()
        for held in self._leases.held_jobs:
            held.stop(StopReason.LEAVING)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerResult:
    """Who ran, and for which room."""

    runner_id: str
    room_id: str


def run(asked: RunnerOptions, *, agent: str | None = None) -> RunnerResult:
    """A runner is an agent of its own: whoever starts it may be the one who manages the jobs."""
    runner_id = asked.id or f"runner-{socket.gethostname().partition('.')[0]}-{os.getpid()}"
    tell = teller(runner_id)
    calls = Nearest(
        agent=agent or runner_id,
        url=asked.hub,
        token=os.environ.get("TALLYSTICK_TOKEN"),
    )
    try:
        with tempfile.TemporaryDirectory(prefix="tally-runner-") as scratch:
            settings = _settings(asked, runner_id, Path(scratch), agent or runner_id)
            room_id = _named(calls, asked.room) if asked.room else _room(calls, settings.cwd)
            source = JobSource(calls, room_id, runner_id, _abilities(settings), settings.lease_ms)
            if asked.dry_run:
                _foretell(source, settings, tell)
                return RunnerResult(runner_id=runner_id, room_id=room_id)
            supervisor = Supervisor(source, settings, tell)
            for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(sign, supervisor.leave)
            tell(f"serves room {room_id} with {', '.join(settings.executors)}, {settings.max_parallel} at a time")
            for executor in settings.executors:
                for warning in plan.warnings(executor, folder=settings.cwd, environ=settings.environ):
                    tell(warning)
            supervisor.run(once=asked.once)
            return RunnerResult(runner_id=runner_id, room_id=room_id)
    finally:
        calls.close()


def _foretell(source: JobSource, settings: RunnerSettings, tell: Callable[[str], None]) -> None:
    """What a runner would find; it shows itself to nobody and takes nothing."""
    tell(f"would serve room {source.room_id} with {', '.join(settings.executors)} in {settings.cwd}")
    for row in sorted(source.queued(), key=_place):
        tell(f"queued: {row.job.job_id} ({row.job.priority}, {row.job.executor}) {row.job.title}: {row.why}")


def _place(row: RadarJob) -> tuple[int, int, str]:
    """Where a job stands in the order in which they are claimed."""
    return ("HIGH", "MEDIUM", "LOW").index(row.job.priority), len(row.job.job_id), row.job.job_id


def _settings(asked: RunnerOptions, runner_id: str, scratch: Path, agent: str) -> RunnerSettings:
    given = {"codex": asked.codex_bin, "claude_code": asked.claude_bin, "gemini": asked.gemini_bin}
    there = executors.executors_found(
        os.environ, {**given, "command": asked.command}, _sandbox(asked.sandbox), stdin_notes=asked.stdin_notes
    )
    wanted = [name.strip() for name in asked.executors.split(",") if name.strip()]
    cwd = Path(asked.cwd).resolve()
    if not cwd.is_dir():
        raise InvalidField(f"--cwd {asked.cwd} is no folder.", field="cwd")
    if asked.skill_profile not in set(Profile):
        raise InvalidField(f"--skill-profile is one of {', '.join(Profile)}.", field="skill_profile")
    return RunnerSettings(
        runner_id=runner_id,
        agent=agent,
        executors=executors.executor_chosen(there, wanted),
        cwd=cwd,
        worktrees=Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tallystick/worktrees",
        scratch=scratch,
        environ=dict(os.environ),
        worktree=asked.worktree,
        remote=asked.hub is not None,
        max_parallel=asked.max_parallel,
        slice_s=asked.slice_s,
        grace_s=asked.slice_grace_s,
        max_runtime_s=asked.max_runtime_s,
        question_wait_s=asked.question_wait_s,
        heartbeat_s=asked.heartbeat_ms / 1000,
        poll_ms=asked.poll_ms,
        skill_profile=Profile(asked.skill_profile),
        skill_max_chars=asked.skill_max_chars,
        bounds=JobLimits(max_failures=asked.max_failures, max_slices=asked.max_slices, max_claims=asked.max_claims),
    )


def _sandbox(text: str) -> Sandbox:
    if text not in set(Sandbox):
        raise InvalidField(f"--sandbox is one of {', '.join(Sandbox)}.", field="sandbox")
    return Sandbox(text)


def _abilities(settings: RunnerSettings) -> Abilities:
    sandbox = next(iter(settings.executors.values())).sandbox
    return Abilities(
        executors=tuple(each.name for each in settings.executors.values()),
        profiles=executors.PROFILES,
        max_parallel=settings.max_parallel,
        sandbox_policy=sandbox.value,
        meta={"pid": os.getpid(), "host": socket.gethostname(), "cwd": str(settings.cwd)},
    )


def _named(calls: Nearest, room: str) -> str:
    if not ids.is_beginning(room):
        return room
    rooms = typed.call(calls, "rooms.list", ListRooms(limit=1000), Rooms).rooms
    return ids.meant(room, [each.room_id for each in rooms])


def _room(calls: Nearest, cwd: Path) -> str:
    rooms = typed.call(calls, "rooms.list", ListRooms(context_path=str(cwd), limit=1), Rooms).rooms
    if not rooms:
        raise NoRoomHere(f"There is no room for {cwd} yet.")
    return rooms[0].room_id


def teller(runner_id: str) -> Callable[[str], None]:
    """Says what a runner does, one line each; a worker's words can neither begin a line nor command the terminal."""
    lock = threading.Lock()

    def tell(text: str) -> None:
        with lock:
            print(f"{runner_id}: {output.visible(text)}", file=sys.stderr, flush=True)

    return tell
