"""A repository, a home with our server installed in one harness, and that harness run headless by a scripted model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tests.http.running import RunningHub
from tests.loopback.model import Model, scripted
from tests.loopback.programs import Home, installed
from tests.loopback.saying import Ask, Say, Saying, Script, Use
from tests.surfaces.cli.place import TALLY

HARNESSES = ("claude", "codex", "gemini")
TOOL_PREFIX = {"claude": "mcp__tally__", "codex": "mcp__tally.", "gemini": "mcp_tally_"}
HEADLESS: Mapping[str, Sequence[str]] = {
    # What people run unattended: no dialog can be answered, and nothing is bypassed.
    "claude": ("-p", "--output-format", "json", "--permission-mode", "acceptEdits"),
    "codex": (
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--dangerously-bypass-hook-trust",
        "-s",
        "workspace-write",
        "-",
    ),
    "gemini": ("--approval-mode", "auto_edit", "--output-format", "json", "--prompt", "go"),
}
STARTING = {
    "claude": Use(tool="WaitForMcpServers", given={}),
    "codex": Use(tool="exec_command", given={"cmd": "sleep 0.3"}),
    "gemini": Use(tool="list_directory", given={"dir_path": "."}),
}
"""What each does to let its servers come up, where it asks its model before that."""
EDIT: Mapping[str, Callable[[str], Use]] = {
    "claude": lambda path: Use(tool="Write", given={"file_path": path, "content": "one\n"}),
    "codex": lambda path: Use(tool="exec_command", given={"cmd": f"echo one > {path}"}),
    "gemini": lambda path: Use(tool="write_file", given={"file_path": path, "content": "one\n"}),
}
"""A file of one line, as each writes it."""


@dataclass(frozen=True, slots=True)
class HarnessHome:
    root: Path
    harness: str
    home: Home
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def environ(self) -> dict[str, str]:
        return {**self.home.env, "GEMINI_CLI_TRUST_WORKSPACE": "true", **self.env}

    @property
    def data(self) -> Path:
        return self.home.path / ".local/share/tallystick"

    def tally(self, *args: str, agent: str | None = None) -> dict[str, object]:
        named = ["--as", agent] if agent else []
        done = subprocess.run(
            [TALLY, "--json", *named, *args],
            cwd=self.root,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        found = cast("dict[str, object]", json.loads(done.stdout))
        assert found["ok"], found
        return cast("dict[str, object]", found["data"])

    def run(self, *more: str, seconds: float = 90) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(installed(self.harness)), *HEADLESS[self.harness], *more],
            input="go" if self.harness != "gemini" else "",
            cwd=self.root,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            process_group=0,
        )

    def tool(self, name: str) -> str:
        return f"{TOOL_PREFIX[self.harness]}{name}"


@contextmanager
def workplace(folder: Path, harness: str, script: Script, *install: str) -> Generator[tuple[HarnessHome, Model]]:
    """`install` are options of `tally install`; none installs nothing."""
    root = folder / "repository"
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    with scripted(script) as model:
        place = HarnessHome(root, harness, Home(folder / "home", model))
        if install:
            place.tally("install", harness, *install)
        yield place, model


@contextmanager
def hub_for(place: HarnessHome) -> Generator[RunningHub]:
    hub = RunningHub(place.data, environ={"TALLYSTICK_HTTP_RATE": "0"}).start()
    try:
        yield hub
    finally:
        hub.stop()


class CallsInTurn:
    """A model that makes one call after the other once its tools are there, and then says that it is done."""

    def __init__(self, harness: str, *uses: Use, calls_at_most: int = 40) -> None:
        self._harness, self._uses = harness, uses
        self._most = calls_at_most
        self.done: list[Ask] = []
        """The requests that came when a step of ours had been taken."""
        self._next = 0
        self._count = 0

    def __call__(self, ask: Ask) -> Saying:
        self._count += 1
        if not ask.tools or self._count > self._most:
            return Say(text="That was all.")
        if self._next:
            self.done.append(ask)
        if self._next == len(self._uses):
            return Say(text="That was all.")
        use = self._uses[self._next]
        if use.tool not in ask.tools and use.tool.startswith(TOOL_PREFIX[self._harness]) and self._count < 10:
            return STARTING[self._harness]
        self._next += 1
        return use
