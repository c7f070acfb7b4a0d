"""A hub, a room, and attached agents as processes of their own, run by scripted harnesses."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tests.http.running import Client, Json, RunningHub
from tests.waiting import eventually

TALLY = str(Path(sys.executable).with_name("tally"))
HARNESS = Path(__file__).parent / "programs" / "harness.py"
DEADLINE = 60.0
WAIT_MS = 60_000


class Process:
    """A `tally` that is told to do something, and what it says meanwhile."""

    def __init__(self, args: Sequence[str], env: dict[str, str], cwd: Path) -> None:
        self.popen = subprocess.Popen(
            [TALLY, *args],
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self.out: list[str] = []
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._listen, daemon=True),
            threading.Thread(target=self._collect, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.popen.stderr
        for line in self.popen.stderr:
            self._lines.put(line.rstrip())
        self._lines.put(None)

    def _collect(self) -> None:
        assert self.popen.stdout
        self.out.extend(line.rstrip() for line in self.popen.stdout)

    def until(self, part: str) -> str:
        """The next line that holds these words."""
        while (line := self._lines.get(timeout=DEADLINE)) is not None:
            self.said.append(line)
            if part in line:
                return line
        raise AssertionError(f"it ended without saying {part!r}: {self.said}")

    def all_said(self) -> list[str]:
        """What it said until it ended."""
        while (line := self._lines.get(timeout=DEADLINE)) is not None:
            self.said.append(line)
        return self.said

    def end(self, sign: signal.Signals = signal.SIGTERM) -> int:
        self.popen.send_signal(sign)
        return self.wait()

    def wait(self) -> int:
        code = self.popen.wait(DEADLINE)
        for thread in self._threads:
            thread.join(DEADLINE)
        for pipe in (self.popen.stdout, self.popen.stderr):
            if pipe:
                pipe.close()
        return code


@dataclass
class World:
    hub: RunningHub
    folder: Path
    room_id: str = ""
    processes: list[Process] = field(default_factory=list[Process])

    def __post_init__(self) -> None:
        self.bin, self.state, self.repo = (self.folder / name for name in ("bin", "state", "repo"))
        for path in (self.bin, self.state, self.repo):
            path.mkdir()
        for slug in ("claude", "codex", "gemini", "agent"):
            script = self.bin / slug
            script.write_text(f'#!/bin/sh\nexec {sys.executable} -S {HARNESS} {slug} "$@"\n')
            script.chmod(0o755)
        self.room_id = cast("str", self.user.call("rooms.create", title="the flock")["room_id"])

    @property
    def user(self) -> Client:
        return self.hub.user

    def client(self, agent: str) -> Client:
        return Client(self.hub, over_socket=True, headers={"tally-agent": agent})

    def member(self, agent: str) -> Client:
        client = self.client(agent)
        client.call("rooms.join", room_id=self.room_id)
        return client

    def start(self, *args: str, **environ: str) -> Process:
        env = {
            **self.hub.settings,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HARNESS_STATE": str(self.state),
            **environ,
        }
        process = Process(args, env, self.repo)
        self.processes.append(process)
        return process

    def attach(self, name: str, *program: str, **environ: str) -> Process:
        """Put a program on the bus that runs once for each message."""
        once = ("--once",) if program[0] == "gemini" else ()
        process = self.start("attach", "--name", name, "--room", self.room_id, *once, "--", *program, **environ)
        process.until("ready")
        return process

    def relay(self, client: Client, *actions: Json, **given: object) -> Json:
        return client.call("actions.relay", room_id=self.room_id, actions=list(actions), **given)

    def outcomes(self, client: Client, relayed: Json) -> list[Json]:
        """What came of a group, once all of it is settled."""
        found: Json = {"settled": False}
        while not found["settled"]:
            found = client.call(
                "actions.outcomes", room_id=self.room_id, group_id=relayed["group_id"], max_wait_ms=WAIT_MS
            )
        return cast("list[Json]", found["actions"])

    def done(self, client: Client, *actions: Json, **given: object) -> list[Json]:
        """Ask, and wait for what comes of it."""
        return self.outcomes(client, self.relay(client, *actions, **given))

    def events(self, *kinds: str) -> list[Json]:
        found = self.user.call("events.list", room_id=self.room_id, kinds=list(kinds), limit=500)
        return cast("list[Json]", found["events"])

    def tasks(self) -> list[tuple[object, object]]:
        """What was said of tasks: status and, where there is one, the step or the summary."""
        kinds = ("x.tally.action.task_updated", "x.tally.action.task_done")
        data = [cast("Json", event["data"]) for event in self.events(*kinds)]
        return [(each["status"], each.get("detail") or each.get("summary")) for each in data]

    def calls(self) -> list[Json]:
        """How the scripted harnesses were called."""
        file = self.state / "calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def sleepers(self) -> list[int]:
        """The processes of a run that is asleep, once there is one."""
        file = self.state / "pids"
        # Between its making and its writing the file is empty.
        return eventually(lambda: ([int(pid) for pid in file.read_text().split()] if file.exists() else []) or None)

    def close(self) -> None:
        for process in self.processes:
            if process.popen.poll() is None:
                process.end(signal.SIGKILL)


def message(dst: str, text: str, **more: object) -> Json:
    return {"type": "message", "dst": dst, "text": text, **more}


def control(dst: str, command: str, **more: object) -> Json:
    return {"type": "control", "dst": dst, "command": command, **more}
