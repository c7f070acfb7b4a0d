"""Who is calling. One session of a harness has one agent id, whichever of its children asks: MCP server, shell or hook.

The session that the harness itself names is the agent, wherever it says so: with a call, to a hook, in the environment,
or to a hook of the same window before (`open_sessions`). Where it does not, the process that started the children is.
That process proves in both cases that the agent lives, unless it works for many windows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePath
from typing import Literal, TypeAlias

from tallystick.harnesses import open_sessions, processes, registry
from tallystick.harnesses.errors import StarterGone
from tallystick.harnesses.processes import Ancestor
from tallystick.harnesses.registry import Harness, HarnessSession
from tallystick.kernel.caller import Caller, Process, SessionKind, check_speaker
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
    told: HarnessSession | None = None,
    above: Sequence[Ancestor] | None = None,
) -> Caller:
    """Tell who stands behind process `pid`; `environ`, `user`, `tty` and what was seen `above` are that process's.

    `told` is the session that its harness named with this very call, or to this very hook.
    """
    above = tuple(processes.ancestors(pid)) if above is None else above
    window = nearest_window(above)
    name = explicit if explicit is not None else _chosen(environ, window)
    session = _session(told or _in_environment(environ, window), window)
    process = _proof_of_life(window, session, pid, surface)
    if name is not None:
        if window is None and surface == "mcp":
            process = _starter(above, pid)
        return _named(name, window, process, session)
    if window is None and surface == "mcp" and _orphaned(above):
        raise StarterGone(f"It was taken in by process {above[0].pid} ({above[0].name}).", pid=above[0].pid)
    if session is not None:
        return _of_session(session, process)
    if window:
        key = process if window.serves_many else window.process
        if key is not None:
            return _harness_caller(window.harness, process, key.host_id, str(key.pid), key.started_at)
    if harness := registry.marked(environ):
        return _out_of_sight(harness, above)
    if surface == "mcp":
        return _client(client_name, above, pid)
    return Caller(agent_id=f"human:{_word(user)}:{_terminal(tty)}", session=SessionKind.HUMAN_CLI)


def of_this_process(explicit: str | None = None, *, told: HarnessSession | None = None) -> Caller:
    """Who a command speaks for."""
    pid, environ = os.getpid(), os.environ
    who, tty = user(environ, os.getuid()), processes.terminal(pid)
    return resolve(environ, pid=pid, user=who, tty=tty, surface="cli", explicit=explicit, told=told)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The nearest harness among the ancestors, named by its launcher where it has one."""

    harness: Harness
    process: Process
    serves_many: bool


def nearest_window(above: Sequence[Ancestor]) -> Window | None:
    calls = [registry.invocation(each.name, each.argv) for each in above]
    at, call = next(((at, call) for at, call in enumerate(calls) if call), (0, None))
    if call is None:
        return None
    while at + 1 < len(calls) and (parent := calls[at + 1]) and parent.launches(call):
        at, call = at + 1, parent
    return Window(harness=call.harness, process=above[at].process, serves_many=call.serves_many)


def told_with_call(
    client_name: str | None, meta: Mapping[str, object], environ: Mapping[str, str]
) -> HarnessSession | None:
    """The session that a harness names with a tool call, as far as it does."""
    harness = registry.by_client(client_name or "")
    if harness is None:
        return None
    if named := harness.session_of_call(meta):
        return named
    call_id = meta.get(harness.call_id)
    subagent = open_sessions.subagent_of(call_id) if isinstance(call_id, str) else ""
    session = harness.session_in(environ)
    return replace(session, subagent=subagent) if session and subagent else None


def note_window(environ: Mapping[str, str], above: Sequence[Ancestor]) -> None:
    """Remember the session that a window began with, where no hook has done so: `/clear` gives its shell another."""
    window = nearest_window(above)
    if window is None or window.harness.call_fields or window.serves_many or open_sessions.of(window.process):
        return
    if named := window.harness.session_in(environ):
        open_sessions.begin(window.process, named.session_id, same_agent=False)


def _chosen(environ: Mapping[str, str], window: Window | None) -> str | None:
    """The name that the environment gives, unless it is a service's: that was the environment of its first window."""
    name = environ.get(VARIABLE) or None
    if name is not None and window and window.serves_many:
        return None if processes.environment(window.process.pid).get(VARIABLE) == name else name
    return name


def _in_environment(environ: Mapping[str, str], window: Window | None) -> HarnessSession | None:
    # Of several whose variables are there only the nearest set its own: the others' were inherited.
    harness = window.harness if window else registry.marked(environ)
    return harness.session_in(environ) if harness else None


def _session(named: HarnessSession | None, window: Window | None) -> HarnessSession | None:
    """The session that stands for the agent: one that is named with every call, else that of the window."""
    harness = registry.by_slug(named.harness) if named else window.harness if window else None
    if harness is None or harness.call_fields:
        return named
    kept = open_sessions.of(window.process) if window else None
    if kept is None and named is not None:
        kept = open_sessions.first_name(named.session_id)
    if kept is None:
        return None
    return HarnessSession(harness=harness.slug, session_id=kept, subagent=named.subagent if named else "")


def _proof_of_life(window: Window | None, session: HarnessSession | None, pid: int, surface: Surface) -> Process | None:
    """The process whose end is the session's.

    A service outlives its windows, but ends the MCP server that it started for one soon after that window has gone. One
    that it started for a sub-agent ends earlier, and proves nothing.
    """
    if window is None:
        return None
    if not window.serves_many:
        return window.process
    return processes.facts(pid) if surface == "mcp" and not (session and session.subagent) else None


def _named(name: str, window: Window | None, process: Process | None, session: HarnessSession | None) -> Caller:
    return Caller(
        agent_id=check_speaker(name),
        session=SessionKind.NAMED,
        process=process,
        harness=window.harness.slug if window else "",
        subagent=_of_subagent(session),
    )


def _of_session(session: HarnessSession, process: Process | None) -> Caller:
    return Caller(
        agent_id=f"{session.harness}:{digest(session.harness, 'session', session.session_id)}",
        session=SessionKind.MCP_HARNESS,
        process=process,
        harness=session.harness,
        subagent=_of_subagent(session),
    )


def _of_subagent(session: HarnessSession | None) -> str:
    return digest(session.harness, "session", session.subagent) if session and session.subagent else ""


def _harness_caller(harness: Harness, process: Process | None, *key: str) -> Caller:
    return Caller(
        agent_id=f"{harness.slug}:{digest(harness.slug, *key)}",
        session=SessionKind.MCP_HARNESS,
        process=process,
        harness=harness.slug,
    )


def _out_of_sight(harness: Harness, above: Sequence[Ancestor]) -> Caller:
    """A harness that is there by its markers but not among the visible ancestors: a sandbox, or an orphan.

    No process is named, since the one that can be seen is not the harness and its end would prove nothing.
    """
    outermost = above[-1].process if above else None
    seen = (outermost.host_id, str(outermost.pid), outermost.started_at) if outermost else (processes.host_id(),)
    return _harness_caller(harness, None, "outermost", *seen)


def _client(client_name: str | None, above: Sequence[Ancestor], pid: int) -> Caller:
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
    """The parent; the server itself where that only took it in, or where it is the first process of its container."""
    return above[0].process if above and not _orphaned(above) else processes.facts(pid)


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
