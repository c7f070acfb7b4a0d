"""What Tallystick writes into a harness: its MCP server and its hooks, and how to recognise them again.

The same table serves installing, uninstalling and the search for drift.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

SERVER = "tally"
"""The name that our server has in every harness."""

SECONDS = 30
"""After which a harness gives a hook up and lets the edit pass: far more than a hook takes on a busy machine."""

HOOK_COMMAND = re.compile(r"""(?:^|[/\\\s'"])tally(?:\.exe)?['"]?(?:\s+--data-dir[= ]\S+)?\s+hook\s+\w+\s+\w+""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How a harness is to call us."""

    path: str
    """The command: absolute for one person, its bare name where others share the file."""
    data_dir: str = ""
    """Only where the person chose another than the usual one."""
    forward: Sequence[str] = field(default=())
    """Variables that the server needs and a harness would not hand on."""

    @property
    def arguments(self) -> list[str]:
        return ["mcp", *(["--data-dir", self.data_dir] if self.data_dir else [])]

    def hook(self, harness: str, event: str) -> str:
        where = ["--data-dir", self.data_dir] if self.data_dir else []
        return shlex.join([self.path, "hook", harness, event, *where])


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEntry:
    event: str
    matcher: str = ""


HOOKS: Mapping[str, Sequence[HookEntry]] = {
    "claude": (
        HookEntry(event="PreToolUse", matcher="Edit|MultiEdit|Write|NotebookEdit|Bash"),
        HookEntry(event="SessionStart"),
        HookEntry(event="Stop"),
    ),
    "codex": (
        HookEntry(event="PreToolUse", matcher="Bash|apply_patch"),
        HookEntry(event="SessionStart"),
        HookEntry(event="Stop"),
    ),
    "gemini": (
        HookEntry(event="BeforeTool", matcher="write_file|replace|run_shell_command"),
        HookEntry(event="SessionStart"),
        HookEntry(event="AfterAgent"),
    ),
}


def server(harness: str, program: Program) -> dict[str, object]:
    """Our entry among the harness's MCP servers."""
    entry: dict[str, object] = {"command": program.path, "args": program.arguments}
    if harness == "claude":
        return {"type": "stdio", **entry, "env": {}}
    if harness == "codex" and program.forward:
        return {**entry, "env_vars": list(program.forward)}
    return entry


def group(harness: str, entry: HookEntry, program: Program) -> dict[str, object]:
    """Our entry among the hooks of one event."""
    command: dict[str, object] = {"type": "command", "command": program.hook(harness, entry.event)}
    if harness == "gemini":
        command = {"name": "tallystick", **command, "timeout": SECONDS * 1000}
    else:
        command = {**command, "timeout": SECONDS}
    return {**({"matcher": entry.matcher} if entry.matcher else {}), "hooks": [command]}


def serves_tally(entry: object) -> bool:
    """Whether a server's entry is one of ours, by whatever path it is started."""
    found = _object(entry)
    command, args = found.get("command"), found.get("args")
    first = cast("list[object]", args)[0:1] if isinstance(args, list) else []
    return isinstance(command, str) and _is_tally(command) and first == ["mcp"]


def reaches_tally(entry: object) -> bool:
    """Whether a server's entry speaks to a hub of ours over HTTP."""
    return url_of(entry).rstrip("/").endswith("/mcp")


def url_of(entry: object) -> str:
    found = _object(entry)
    url = found.get("url") or found.get("httpUrl") or found.get("serverUrl")
    return url if isinstance(url, str) else ""


def command_of(entry: object) -> str:
    command = _object(entry).get("command")
    return command if isinstance(command, str) else ""


def our_commands(group_: object) -> list[str]:
    """The commands of ours in one group of hooks."""
    hooks = _object(group_).get("hooks")
    commands = [command_of(each) for each in cast("list[object]", hooks)] if isinstance(hooks, list) else []
    return [command for command in commands if HOOK_COMMAND.search(command)]


def program_of(command: str) -> str:
    """The program that a hook's command line starts."""
    try:
        return next(iter(shlex.split(command)), "")
    except ValueError:
        return command


def _is_tally(command: str) -> bool:
    return re.split(r"[/\\]", command)[-1].removesuffix(".exe") == "tally"


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
