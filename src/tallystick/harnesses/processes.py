"""Exact facts about processes: which one, on which host, whether it still runs, and what started it.

A pid alone proves nothing, because pids are reused: a process is its host, its pid and the kernel's mark of its start.
Only what never changes on a machine is remembered, so a forked child reads its own truth.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from tallystick.kernel.caller import Process, ProcessState
from tallystick.kernel.ids import digest

_SELF = "/proc/self"
_NAMESPACE = "/proc/self/ns/pid"
_HAS_PROC = Path(_SELF).exists()
_HIGHEST_PID = 2**31 - 1
_PTS_MAJORS = range(136, 144)
_CONSOLE_MAJOR = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSighting:
    """What the system says about one pid at one moment."""

    parent: int
    name: str
    started_at: str
    dead: bool
    """It has ended; only its parent has not collected it yet."""
    terminal: str | None
    """The controlling terminal, which stays the same when all three streams are redirected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    pid: int
    parent: int
    name: str
    argv: tuple[str, ...]
    process: Process


def facts(pid: int) -> Process | None:
    """The exact process that runs under this pid now, if there is one and it may be looked at."""
    seen = _glance(pid)
    return Process(host_id=host_id(), pid=pid, started_at=seen.started_at) if seen else None


def terminal(pid: int) -> str | None:
    """The device of the process's controlling terminal, such as /dev/pts/3."""
    seen = _glance(pid)
    return seen.terminal if seen else None


def state(process: Process) -> ProcessState:
    """Whether this exact process still runs. What cannot be seen from here is unknown, never gone."""
    if process.host_id != host_id():
        return ProcessState.UNKNOWN
    if process.pid == os.getpid() and process == _myself(process.pid):
        return ProcessState.ALIVE
    try:
        seen = look(process.pid)
    except OSError:
        return ProcessState.UNKNOWN
    same = seen is not None and not seen.dead and seen.started_at == process.started_at
    return ProcessState.ALIVE if same else ProcessState.GONE


@lru_cache(maxsize=1)
def _myself(pid: int) -> Process | None:
    """This process, which needs no look to know that it runs; asked by its pid, which a fork changes."""
    return facts(pid)


def ancestors(pid: int) -> Iterator[Ancestor]:
    """The processes above this one, nearest first, as far as they can be seen."""
    host, below = host_id(), _glance(pid)
    while below and below.parent:
        seen = _glance(below.parent)
        # A parent younger than its child is a stranger: the real one ended and its pid was given away.
        if seen is None or float(seen.started_at) > float(below.started_at):
            return
        pid = below.parent
        process = Process(host_id=host, pid=pid, started_at=seen.started_at)
        yield Ancestor(pid=pid, parent=seen.parent, name=seen.name, argv=command_line(pid), process=process)
        below = seen


def look(pid: int) -> ProcessSighting | None:
    """What runs under this pid: None if nothing does, OSError if it cannot be told."""
    if not 0 < pid <= _HIGHEST_PID:
        return None
    return look_in_proc(pid) if _HAS_PROC else look_with_psutil(pid)


def command_line(pid: int) -> tuple[str, ...]:
    """The arguments the process was started with, or what it has put in their place; empty if they cannot be read."""
    return _arguments_in_proc(pid) if _HAS_PROC else _arguments_with_psutil(pid)


def _glance(pid: int) -> ProcessSighting | None:
    try:
        seen = look(pid)
    except OSError:
        return None
    return None if seen is None or seen.dead else seen


def look_in_proc(pid: int) -> ProcessSighting | None:
    # Every look at a room looks at its members' processes, and pathlib would take three times as long.
    if not _knows_us(os.getpid()):
        raise PermissionError("/proc belongs to another pid namespace")
    try:
        stat = _read(f"/proc/{pid}/stat").decode("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return _hidden_or_absent(pid)
    # The name may hold spaces and parentheses, but nothing after the last one is free text.
    head, _, tail = stat.rpartition(")")
    fields = tail.split()
    return ProcessSighting(
        parent=int(fields[1]),
        name=head.partition("(")[2],
        started_at=fields[19],
        # A main thread can end before the others do: the process then shows as a zombie and still works.
        dead=fields[0] in "ZXx" and int(fields[17]) <= 1,
        terminal=_terminal(int(fields[4])),
    )


@lru_cache(maxsize=1)
def _knows_us(pid: int) -> bool:
    """Whether /proc has this process by its own pid: that of another namespace has others by the same numbers."""
    return os.readlink(_SELF) == str(pid)  # noqa: PTH115


def _read(name: str, *, whole: bool = False) -> bytes:
    """One file of /proc, which the kernel writes at the moment it is read; a short one takes a single read."""
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = part = os.read(file, 4096)
        while whole and part:
            part = os.read(file, 65536)
            content += part
        return content
    finally:
        os.close(file)


def _arguments_in_proc(pid: int) -> tuple[str, ...]:
    try:
        text = _read(f"/proc/{pid}/cmdline", whole=True).decode("utf-8", "replace")
    except OSError:
        return ()
    return tuple(text.removesuffix("\0").split("\0")) if text else ()


def _hidden_or_absent(pid: int) -> None:
    """Some systems hide the processes of other users; they are there nevertheless."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return
    raise PermissionError(f"process {pid} is hidden")


def _terminal(device: int) -> str | None:
    major, minor = os.major(device), os.minor(device)
    if major in _PTS_MAJORS:
        return f"/dev/pts/{(major - _PTS_MAJORS.start) * 256 + minor}"
    return f"/dev/tty{minor}" if major == _CONSOLE_MAJOR else None


def look_with_psutil(pid: int) -> ProcessSighting | None:
    """For systems without /proc."""
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return ProcessSighting(
                parent=process.ppid(),
                name=process.name(),
                started_at=f"{process.create_time():.3f}",
                dead=process.status() == psutil.STATUS_ZOMBIE,
                terminal=process.terminal() if hasattr(process, "terminal") else None,
            )
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied as denied:
        raise PermissionError(f"process {pid} may not be looked at") from denied


def _arguments_with_psutil(pid: int) -> tuple[str, ...]:
    import psutil

    try:
        return tuple(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ()


@cache
def host_id() -> str:
    """This machine since this boot, seen from this pid namespace: the range within which a pid means anything."""
    try:
        namespace = os.readlink(_NAMESPACE)  # noqa: PTH115
    except OSError:
        namespace = ""
    return digest(machine_id(), _text("/proc/sys/kernel/random/boot_id"), namespace, length=16)


# A process stays in its namespace for life; only a child may be born into another.
os.register_at_fork(after_in_child=host_id.cache_clear)


@cache
def machine_id() -> str:
    """This machine, across reboots. The system's own id is never shown: it is meant to stay private."""
    for source in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        if len(known := _text(source)) == 32:
            return digest("machine", known, length=16)
    import socket

    return digest("host", socket.gethostname(), length=16)


def _text(source: str) -> str:
    try:
        return Path(source).read_text("ascii", "replace").strip()
    except OSError:
        return ""


def environment(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty where it cannot be read."""
    try:
        text = _read(f"/proc/{pid}/environ", whole=True).decode("utf-8", "surrogateescape")
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)
