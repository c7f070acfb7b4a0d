"""Real process trees for the identity tests: installs fake harnesses, starts them, reads what their children say."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tallystick.harnesses import processes
from tallystick.kernel.caller import Caller, Process, SessionKind
from tallystick.kernel.ids import digest

PROGRAMS = Path(__file__).parent / "programs"
ASK = (sys.executable, str(PROGRAMS / "ask.py"))

MARKERS: Mapping[str, Mapping[str, str]] = {
    "claude": {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "5e55"},
    "codex": {"CODEX_CI": "1", "CODEX_THREAD_ID": "7d1d"},
    "gemini": {"GEMINI_CLI": "1"},
}
SESSIONS: Mapping[str, str] = {"claude": "5e55", "codex": "7d1d"}
"""Gemini names its session to its hooks alone."""
SLUGS: Mapping[str, str] = {"claude": "claude-code", "codex": "codex", "gemini": "gemini"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A command that a fake harness runs, with exactly this environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    process: Process
    said: tuple[Caller, ...]
    """What the children answered, in their order."""


def script(folder: Path, name: str, program: str = "harness") -> Path:
    """Install a program of ours as an interpreted script of that name."""
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"#!{sys.executable}\n{(PROGRAMS / program).with_suffix('.py').read_text('utf-8')}", "utf-8")
    target.chmod(0o755)
    return target


def binary(folder: Path, name: str) -> Path:
    """Install a native program of that name: a shell, which takes its children as `-c`."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(shutil.which("bash") or "/bin/sh", folder / name))


def plan(*children: Child) -> str:
    return json.dumps([{"argv": child.argv, "env": dict(child.env)} for child in children])


def shell_plan(*children: Child, stay: bool = False) -> str:
    """The same for a native harness; only the one that the test started stays."""
    calls = [
        shlex.join(["env", "-i", *(f"{name}={value}" for name, value in child.env.items()), *child.argv])
        for child in children
    ]
    return "; ".join([*(f"{call} </dev/null" for call in calls), "echo ready; read -r end" if stay else "exit"])


def mcp_server(env: Mapping[str, str] | None = None, *, client_name: str = "") -> Child:
    """What a harness starts by itself, with an environment that it has stripped."""
    return Child(argv=(*ASK, "mcp", client_name), env=env or {})


def server_of(name: str, session: str = "") -> Child:
    """The MCP server that a harness starts, with what that one really tells it."""
    session = session or SESSIONS.get(name, "")
    if name == "codex":
        told = json.dumps({"harness": "codex", "session_id": session})
        return Child(argv=(*ASK, "mcp", "codex-mcp-client", "", "", told), env={})
    marked = {**MARKERS[name], **({"CLAUDE_CODE_SESSION_ID": session} if name == "claude" else {})}
    return mcp_server(marked)


def in_shell(command: Sequence[str], env: Mapping[str, str]) -> Child:
    """What an agent types: its shell stays, because something follows the command."""
    return Child(argv=("/bin/sh", "-c", f"{shlex.join(command)}; exit $?"), env=env)


def replacing_shell(command: Sequence[str], env: Mapping[str, str]) -> Child:
    """The same where the shell replaces itself by the command, as shells do with the last one."""
    return Child(argv=("/bin/sh", "-c", f"exec {shlex.join(command)}"), env=env)


@contextmanager
def running(*argv: str | Path, env: Mapping[str, str] | None = None) -> Generator[Running]:
    """Start a fake harness, let its children speak, and keep it alive meanwhile."""
    with subprocess.Popen(
        [str(each) for each in argv], env=dict(env or {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        said = tuple(msgspec.json.decode(line, type=Caller) for line in iter(started.stdout.readline, "ready\n"))
        process = processes.facts(started.pid)
        assert process is not None
        yield Running(process=process, said=said)


def detached(*argv: str | Path, env: Mapping[str, str] | None = None) -> tuple[Caller, ...]:
    """Run a command as an orphan, out of reach of any harness that runs these tests, and read its answers."""
    command = [sys.executable, PROGRAMS / "detached.py", *argv]
    done = subprocess.run(
        command, env=dict(env or {}), stdin=subprocess.DEVNULL, capture_output=True, check=True, text=True
    )
    return tuple(msgspec.json.decode(line, type=Caller) for line in done.stdout.splitlines())


def instance(name: str, process: Process, session: str = "") -> Caller:
    """The one identity of a harness's session; of its process where no session is known."""
    slug, session = SLUGS[name], session or SESSIONS.get(name, "")
    of_process = (process.host_id, str(process.pid), process.started_at)
    key = digest(slug, "session", session) if session else digest(slug, *of_process)
    return Caller(agent_id=f"{slug}:{key}", session=SessionKind.MCP_HARNESS, process=process, harness=slug)
