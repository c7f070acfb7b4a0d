"""Who is calling. One harness instance has one agent id, whichever of its children asks: MCP server, shell or hook.

What those children share is not their environment, which harnesses strip and change as they like, but the process that
started them. So the instance is that process; the environment is asked only where the process cannot be seen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import PurePath
from typing import Literal, TypeAlias

from tallystick.harnesses import processes, registry
from tallystick.harnesses.errors import StarterGone
from tallystick.harnesses.processes import Ancestor
from tallystick.harnesses.registry import Harness
from tallystick.kernel.caller import Caller, Process, SessionKind, check_agent_id
from tallystick.kernel.ids import digest

Surface: TypeAlias = Literal["mcp", "cli"]
"""`mcp` is started by the program that uses it; `cli` is typed, by an agent or by a person."""

VARIABLE = "TALLYSTICK_AGENT"

_RESERVED = frozenset({"user", "system", "svc", "human"})
_ADOPTERS = frozenset(
    {"systemd", "init", "launchd", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan", "conmon"}
)
"""Programs that take in the orphans below them and start no MCP server themselves."""
_NOT_A_WORD = re.compile(r"[^\w.@+-]+")
_NOT_A_SLUG = re.compile(r"[^a-z0-9]+")


def resolve(
    environ: Mapping[str, str],
    *,
    pid: int,
    user: str,
    tty: str | None,
    surface: Surface,
    client_name: str | None = None,
    explicit: str | None = None,
    above: Sequence[Ancestor] | None = None,
) -> Caller:
    """Tell who stands behind process `pid`; `environ`, `user`, `tty` and what was seen `above` are that process's."""
    above = tuple(processes.ancestors(pid)) if above is None else above
    name = explicit if explicit is not None else environ.get(VARIABLE) or None
    found = _instance(above)
    if name is not None:
        return _named(name, found, _starter(above, pid) if surface == "mcp" else None)
    if found:
        harness, process = found
        return _harness_caller(harness, process, process.host_id, str(process.pid), process.started_at)
    if harness := registry.marked(environ):
        return _out_of_sight(harness, harness.session_id(environ), above)
    if surface == "mcp":
        return _client(client_name, above, pid)
    return Caller(agent_id=f"human:{_word(user)}:{_terminal(tty)}", session=SessionKind.HUMAN_CLI)


def of_this_process(explicit: str | None = None) -> Caller:
    """Who a command speaks for."""
    return of_process(os.getpid(), os.environ, os.getuid(), explicit=explicit)


def of_process(pid: int, environ: Mapping[str, str], uid: int, *, explicit: str | None = None) -> Caller:
    """Who a command speaks for that runs, or calls a hub, as this process."""
    tty = processes.terminal(pid)
    return resolve(environ, pid=pid, user=user(environ, uid), tty=tty, surface="cli", explicit=explicit)


def guardian(caller: Caller, pid: int) -> Caller:
    """The caller with this process behind it. A harness instance stays itself: it outlives the command."""
    if caller.session is SessionKind.MCP_HARNESS:
        return caller
    return replace(caller, session=SessionKind.HUMAN_GUARDIAN, process=processes.facts(pid))


def user(environ: Mapping[str, str], uid: int) -> str:
    """The name of a person: as the environment has it, else the account's, else the number."""
    named = next((environ[name] for name in ("LOGNAME", "USER", "LNAME", "USERNAME") if environ.get(name)), None)
    return named or _account(uid)


@cache
def _account(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # A user without an account, as in many containers.
        return str(uid)


def _instance(above: Sequence[Ancestor]) -> tuple[Harness, Process] | None:
    """The nearest harness among the ancestors, named by its launcher where it has one."""
    calls = [registry.invocation(each.name, each.argv) for each in above]
    at, call = next(((at, call) for at, call in enumerate(calls) if call), (0, None))
    if call is None:
        return None
    while at + 1 < len(calls) and (parent := calls[at + 1]) and parent.launches(call):
        at, call = at + 1, parent
    return call.harness, above[at].process


def _named(name: str, found: tuple[Harness, Process] | None, starter: Process | None) -> Caller:
    harness, process = found or (None, starter)
    return Caller(
        agent_id=check_agent_id(name),
        session=SessionKind.NAMED,
        process=process,
        harness=harness.slug if harness else "",
    )


def _harness_caller(harness: Harness, process: Process | None, *key: str) -> Caller:
    return Caller(
        agent_id=f"{harness.slug}:{digest(harness.slug, *key)}",
        session=SessionKind.MCP_HARNESS,
        process=process,
        harness=harness.slug,
    )


def _out_of_sight(harness: Harness, session_id: str | None, above: Sequence[Ancestor]) -> Caller:
    """A harness that is there by its markers but not among the visible ancestors: a sandbox, or an orphan.

    No process is named, since the one that can be seen is not the harness and its end would prove nothing.
    """
    if session_id:
        return _harness_caller(harness, None, "session", session_id)
    outermost = above[-1].process if above else None
    seen = (outermost.host_id, str(outermost.pid), outermost.started_at) if outermost else (processes.host_id(),)
    return _harness_caller(harness, None, "outermost", *seen)


def _client(client_name: str | None, above: Sequence[Ancestor], pid: int) -> Caller:
    if _orphaned(above):
        raise StarterGone(f"It was taken in by process {above[0].pid} ({above[0].name}).", pid=above[0].pid)
    harness = registry.by_client(client_name or "")
    slug = harness.slug if harness else _slug(client_name or "") or _slug(_command(above)) or "mcp"
    process = _starter(above, pid)
    key = (process.host_id, str(process.pid), process.started_at) if process else (processes.host_id(), str(pid))
    return Caller(
        agent_id=f"{slug}:{digest(slug, *key)}",
        session=SessionKind.MCP_HARNESS,
        process=process,
        harness=harness.slug if harness else "",
    )


def _starter(above: Sequence[Ancestor], pid: int) -> Process | None:
    """The parent, unless it only took the orphan in; for the first process of a container, the server itself."""
    if _orphaned(above):
        return None
    return above[0].process if above else processes.facts(pid)


def _orphaned(above: Sequence[Ancestor]) -> bool:
    """Whether who started the process is gone: its parent is the system's first process, or one that adopts orphans."""
    return bool(above) and (above[0].pid == 1 or above[0].name in _ADOPTERS)


def _command(above: Sequence[Ancestor]) -> str:
    parent = above[0] if above else None
    return PurePath(parent.argv[0] if parent and parent.argv else parent.name).name if parent else ""


def _slug(text: str) -> str:
    slug = _NOT_A_SLUG.sub("-", text.lower())[:32].strip("-")
    # A client chooses its own name, and with it must not come to look like one of ours.
    return f"mcp-{slug}" if slug in _RESERVED else slug


def _word(text: str) -> str:
    return _NOT_A_WORD.sub("-", text) or "-"


def _terminal(tty: str | None) -> str:
    device = (tty or "").removeprefix("/dev/")
    return _word((device.removeprefix("tty") if device.startswith("ttys") else device).replace("/", ""))
