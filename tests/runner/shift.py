"""A place with a room and jobs, and `tally runner` as a process; executors are small programs that tests write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, SessionKind
from tests.waiting import until

Row: TypeAlias = dict[str, Any]

TALLY = str(Path(sys.executable).with_name("tally"))
DEADLINE = 60.0
BOSS = Caller(agent_id="boss", session=SessionKind.NAMED)
QUICK = ("--heartbeat-ms", "500", "--poll-ms", "100")

# What every executor program begins with: the job it was given, and a way to answer.
PRELUDE = """
    import json, os, signal, subprocess, sys, time
    job = json.loads(sys.stdin.readline())
    def say(**note): print(json.dumps(note), flush=True)
    def end(status, summary, *refs, events=()):
        print(json.dumps({"status": status, "summary": summary, "refs": refs, "events": list(events)}), flush=True)
    def poll_until(there):
        while not there():
            time.sleep(0.01)
"""


@dataclass
class Shift:
    """The manager's side: creates jobs and looks at what became of them."""

    settings: Settings
    folder: Path
    programs: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.hub = Hub.open(self.settings)
        self.workspace = self.folder / "work"
        self.workspace.mkdir()
        self.room_id = cast(
            "str", self.call("rooms.create", title="the pasture", context_path=str(self.workspace))["room_id"]
        )
        self.here("rooms.join")
        self.takes("claimed")

    def takes(self, proof: str) -> None:
        """What counts as proof here; most tests are about running, and there a claim will do."""
        self.here("rooms.set_policy", proof=proof)

    def call(self, operation: str, **given: object) -> Row:
        return self.hub.call(operation, given, BOSS).to_data()

    def here(self, operation: str, **given: object) -> Row:
        return self.call(operation, room_id=self.room_id, **given)

    def create(self, **given: object) -> str:
        asked = {"title": "Count the sheep", "prompt": "Count them.", **given}
        return cast("str", self.here("jobs.create", **asked)["job"]["job_id"])

    def job(self, job_id: str) -> Row:
        return cast("Row", self.here("jobs.open", job=job_id)["job"])

    def events(self, job_id: str) -> list[Row]:
        """Oldest first."""
        return cast("list[Row]", self.here("jobs.tail", job=job_id, limit=200)["events"])

    def told(self, job_id: str, *kinds: str) -> list[str]:
        """The messages of these kinds, oldest first."""
        return [event["message"] for event in self.events(job_id) if event["kind"] in kinds]

    def ended(self, job_id: str) -> Row:
        """The job, once it has ended."""
        limit = time.monotonic() + DEADLINE
        while time.monotonic() < limit:
            got = self.here("jobs.wait", job=job_id, max_wait_ms=2000)
            if got["done"]:
                return cast("Row", got["job"])
        raise AssertionError(f"{job_id} did not end: {self.events(job_id)}")

    def until_told(self, job_id: str, message: str) -> None:
        until(lambda: any(message in event["message"] for event in self.events(job_id)))

    def program(self, code: str) -> str:
        """An executor: a command that runs this code with the job at hand."""
        self.programs += 1
        file = self.folder / f"executor{self.programs}.py"
        file.write_text(textwrap.dedent(PRELUDE) + textwrap.dedent(code))
        return f"{sys.executable} -S {file}"

    def env(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        at = {"TALLYSTICK_DATA_DIR": str(self.settings.data_dir)}
        if self.settings.database_url:
            at["TALLYSTICK_DATABASE_URL"] = self.settings.database_url
        return {**kept, **at, "XDG_CACHE_HOME": str(self.folder / "cache"), **more}

    @contextmanager
    def runner(
        self, code: str | None, *args: str, runner_id: str = "r1", env: Mapping[str, str] | None = None
    ) -> Generator[Runner]:
        """A runner at work; killed at the end if it still is."""
        command = ("--executors", "command", "--command", self.program(code)) if code is not None else ()
        argv = [TALLY, "runner", "--room", self.room_id, "--id", runner_id, *QUICK, *command, *args]
        log = self.folder / f"{runner_id}.log"
        with log.open("a") as errors:
            process = subprocess.Popen(argv, cwd=self.workspace, env=env or self.env(), stderr=errors)
        try:
            yield Runner(process, log)
        finally:
            process.kill()
            process.wait()

    def once(self, code: str, *args: str, **more: Any) -> str:
        """A runner that works until there is nothing to do; its log."""
        with self.runner(code, "--once", *args, **more) as runner:
            assert runner.process.wait(DEADLINE) == 0, runner.said
            return runner.said

    def close(self) -> None:
        self.hub.close()


@dataclass
class Runner:
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text()

    def signal(self, sign: signal.Signals) -> None:
        self.process.send_signal(sign)

    def finished(self) -> int:
        return self.process.wait(DEADLINE)
