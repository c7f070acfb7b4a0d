"""The program: find out what this machine can do and which room is meant, then keep going until told to stop."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tallystick.capabilities.rooms.contract import ListRooms, Rooms
from tallystick.client import typed
from tallystick.client.nearest import Nearest
from tallystick.harnesses.headless.protocol import Sandbox
from tallystick.kernel.errors import InvalidField, NoRoomHere
from tallystick.runner import executors
from tallystick.runner.job_run import RunnerSettings
from tallystick.runner.job_source import Abilities, JobSource
from tallystick.runner.options import RunnerOptions
from tallystick.runner.rules import JobLimits
from tallystick.runner.skill_packs import Profile
from tallystick.runner.supervisor import Supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerResult:
    """Who ran, and for which room."""

    runner_id: str
    room_id: str


def run(asked: RunnerOptions) -> RunnerResult:
    runner_id = asked.id or f"runner-{socket.gethostname().partition('.')[0]}-{os.getpid()}"
    tell = _teller(runner_id)
    calls = Nearest(
        agent=os.environ.get("TALLYSTICK_AGENT") or runner_id,
        url=asked.hub,
        token=os.environ.get("TALLYSTICK_TOKEN"),
    )
    try:
        with tempfile.TemporaryDirectory(prefix="tally-runner-") as scratch:
            settings = _settings(asked, runner_id, Path(scratch))
            room_id = asked.room or _room(calls, settings.cwd)
            source = JobSource(calls, room_id, runner_id, _abilities(settings), settings.lease_ms)
            supervisor = Supervisor(source, settings, tell)
            for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(sign, supervisor.leave)
            tell(f"serves room {room_id} with {', '.join(settings.executors)}, {settings.max_parallel} at a time")
            supervisor.run(once=asked.once)
            return RunnerResult(runner_id=runner_id, room_id=room_id)
    finally:
        calls.close()


def _settings(asked: RunnerOptions, runner_id: str, scratch: Path) -> RunnerSettings:
    given = {"codex": asked.codex_bin, "claude_code": asked.claude_bin, "gemini": asked.gemini_bin}
    there = executors.found(os.environ, {**given, "command": asked.command}, _sandbox(asked.sandbox))
    wanted = [name.strip() for name in asked.executors.split(",") if name.strip()]
    cwd = Path(asked.cwd).resolve()
    if not cwd.is_dir():
        raise InvalidField(f"--cwd {asked.cwd} is no folder.", field="cwd")
    if asked.skill_profile not in set(Profile):
        raise InvalidField(f"--skill-profile is one of {', '.join(Profile)}.", field="skill_profile")
    return RunnerSettings(
        runner_id=runner_id,
        executors=executors.chosen(there, wanted),
        cwd=cwd,
        worktrees=Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tallystick/worktrees",
        scratch=scratch,
        environ=dict(os.environ),
        worktree=asked.worktree,
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


def _room(calls: Nearest, cwd: Path) -> str:
    rooms = typed.call(calls, "rooms.list", ListRooms(context_path=str(cwd), limit=1), Rooms).rooms
    if not rooms:
        raise NoRoomHere(f"There is no room for {cwd} yet.")
    return rooms[0].room_id


def _teller(runner_id: str) -> Callable[[str], None]:
    lock = threading.Lock()

    def tell(text: str) -> None:
        with lock:
            print(f"{runner_id}: {text}", file=sys.stderr, flush=True)

    return tell
