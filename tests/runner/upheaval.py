"""Runners at work while they are killed and paused at random and the hub comes and goes; ends when every job has."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tests.runner.shift import Runner, Shift
from tests.surfaces.hubs import RunningHub, hub

HEARTBEAT_MS = 400
LEASE_MS = 3 * HEARTBEAT_MS
PAUSE_S = 2 * LEASE_MS / 1000
"""How long a paused runner stands still: past its lease."""

# Writes down what it does, then ends in one of the ways in which programs end.
EXECUTOR = """
    import hashlib
    def log(what):
        line = json.dumps({"job": job["job_id"], "revision": job["claim_revision"], "what": what})
        fd = os.open("diary", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(fd, line.encode() + b"\\n")
    number, turn = int(job["job_id"][4:]), job["slice"]["number"]
    fate = hashlib.sha256(f"{number} {job['claim_revision']} {turn}".encode()).digest()
    log("begin")
    time.sleep(fate[0] / 255 * float(os.environ["LONGEST_SLICE_S"]))
    if fate[1] < 20:
        sys.exit(3)
    if fate[1] < 50 and turn == 1:
        end("DONE", "without proof")
    elif fate[1] < 80 and turn < 3:
        say(kind="checkpoint", message="half")
        end("CONTINUE", "half")
    else:
        log("done")
        end("DONE", "whole", f"CMD: count {number} (exit 0)")
"""


@dataclass
class Upheaval:
    shift: Shift
    seed: int
    longest_slice_s: float = 0.2
    did: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._runners: dict[str, Runner] = {}
        self._paused: dict[str, float] = {}
        self._hub: tuple[ExitStack, RunningHub] | None = None
        self._names = 0
        self._stack = ExitStack()
        self._program = self.shift.program(EXECUTOR)

    def run(self, *, runners: int, every_s: float, deadline_s: float) -> None:
        """Until every job of the room has ended, or the deadline."""
        with self._stack:
            self._toggle_hub()
            for _ in range(runners):
                self._start()
            until = time.monotonic() + deadline_s
            while left := self.left():
                assert time.monotonic() < until, f"{len(left)} jobs did not end: {left[:5]} ({dict(self.did)})"
                self._resume()
                self._strike()
                threading.Event().wait(every_s * self._random.uniform(0.5, 1.5))
            self._resume(everybody=True)
            for runner in self._runners.values():
                runner.signal(signal.SIGTERM)
            for runner in self._runners.values():
                runner.finished()
            if self._hub:
                self._hub[0].close()

    def left(self) -> list[str]:
        """Some of the jobs that have not ended."""
        active = [self.shift.here("jobs.list", status=status, limit=5)["jobs"] for status in ("QUEUED", "RUNNING")]
        return [row["job_id"] for rows in active for row in rows]

    def _strike(self) -> None:
        match self._random.choices(["nothing", "kill", "pause", "hub"], [4, 3, 3, 1])[0]:
            case "kill":
                self._kill()
            case "pause":
                self._pause()
            case "hub":
                self._toggle_hub()
            case _:
                pass

    def _start(self) -> None:
        self._names += 1
        name = f"r{self._names}"
        quick = ("--heartbeat-ms", str(HEARTBEAT_MS), "--poll-ms", "200", "--max-claims", "1000", "--max-failures", "5")
        command = ("--executors", "command", "--command", self._program, "--max-parallel", "2")
        env = self.shift.env(LONGEST_SLICE_S=str(self.longest_slice_s))
        opened = self.shift.runner(None, *command, *quick, runner_id=name, env=env)
        self._runners[name] = self._stack.enter_context(opened)

    def _kill(self) -> None:
        name = self._random.choice(list(self._runners))
        runner = self._runners.pop(name)
        self._paused.pop(name, None)
        runner.signal(signal.SIGKILL)
        runner.finished()
        self.did["kill"] += 1
        self._start()

    def _pause(self) -> None:
        name = self._random.choice(list(self._runners))
        if name not in self._paused:
            self._runners[name].signal(signal.SIGSTOP)
            self._paused[name] = time.monotonic() + PAUSE_S
            self.did["pause"] += 1

    def _resume(self, *, everybody: bool = False) -> None:
        for name, until in list(self._paused.items()):
            if everybody or until <= time.monotonic():
                self._runners[name].signal(signal.SIGCONT)
                del self._paused[name]

    def _toggle_hub(self) -> None:
        if self._hub:
            stack, running = self._hub
            running.kill()
            stack.close()
            self._hub = None
            self.did["hub killed"] += 1
            return
        stack = self._stack.enter_context(ExitStack())
        env = {name: value for name, value in self.shift.env().items() if name.startswith("TALLYSTICK_")}
        self._hub = stack, stack.enter_context(hub(env))
        self.did["hub started"] += 1

    @property
    def refusals(self) -> Counter[str]:
        """What runners were refused, as their logs tell."""
        said = "".join(log.read_text() for log in self.shift.folder.glob("r*.log"))
        return Counter({what: said.count(what) for what in ("is held by the runner", "heartbeat failed")})

    @property
    def diary(self) -> list[dict[str, Any]]:
        path = self.shift.workspace / "diary"
        return [cast("dict[str, Any]", json.loads(line)) for line in path.read_text().splitlines()]

    def survivors(self) -> list[str]:
        """Executors that are still there, and their nannies."""
        script = self._program.split()[-1].encode()
        found = list[str]()
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                try:
                    argv = (folder / "cmdline").read_bytes()
                except OSError:
                    continue
                if script in argv and b"\0runner\0" not in argv:
                    found.append(folder.name)
        return found


def events(shift: Shift) -> list[dict[str, Any]]:
    """Every event about jobs, in order."""
    found, cursor = list[dict[str, Any]](), 0
    while True:
        got = shift.here("events.list", since_seq=cursor, limit=1000)
        found += [event for event in got["events"] if event["kind"].startswith("x.tally.job.")]
        if got["cursor"] == cursor or len(got["events"]) < 1000:
            return found
        cursor = got["cursor"]


def verified(shift: Shift) -> bool:
    return bool(shift.call("events.verify")["ok"])
