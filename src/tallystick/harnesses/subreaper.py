"""Stands between us and a program, so that nothing the program starts outlives the program or whoever started it.

A script of its own, run as `python -I -S subreaper.py PIPE ARGV...`. Who runs it holds the other end of the pipe; when
that closes, by intent or because its holder is gone, everything below this process is killed. On Linux that
reaches children that left the process group too: they are adopted by this process and by nobody else.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LONGEST_SWEEP = 10.0
"""Seconds after which a process that does not die of SIGKILL is left to the kernel."""


def main(life_pipe: int, argv: Sequence[str]) -> int:
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    # Handlers, not SIG_IGN: what is ignored stays ignored in the program, a handler does not.
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(each, _unmoved)
    child = os.fork()
    if child == 0:
        _become(argv)
    # The program's pipes are its own: held here as well, they would never show their end.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    code = _wait(child, life_pipe, ear)
    _sweep()
    return 128 + signal.SIGKILL if code is None else code


def _unmoved(_signal: int, _frame: object) -> None:
    """The program decides what a signal to the group means; this process stays until it is gone."""


def _become(argv: Sequence[str]) -> None:
    try:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execvp(argv[0], list(argv))  # noqa: S606
    except OSError as wrong:
        os.write(2, f"{argv[0]}: {wrong.strerror}\n".encode())
    finally:
        os._exit(127)


def _wait(child: int, life_pipe: int, ear: int) -> int | None:
    """The program's exit code, in a shell's manner of speaking; None when the pipe closed first."""
    while True:
        ready, _, _ = select.select([life_pipe, ear], [], [])
        if life_pipe in ready:
            return None
        os.read(ear, 512)
        for pid, status in _reaped():
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return 128 - code if code < 0 else code


def _reaped() -> list[tuple[int, int]]:
    """Children that ended; also adopted ones, which would stay zombies otherwise."""
    found = list[tuple[int, int]]()
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(ended)
    return found


def _sweep() -> None:
    """Kill whatever is below this process until nothing is."""
    until = time.monotonic() + LONGEST_SWEEP
    while (below := _below(os.getpid())) and time.monotonic() < until:
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
        _reaped()
    if not os.path.isdir("/proc/self"):  # noqa: PTH112
        # Without /proc the group is all there is to go by; this process is part of it.
        os.killpg(0, signal.SIGKILL)


def _below(top: int) -> list[int]:
    parents = dict[int, int]()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():  # noqa: PTH112, PTH208
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                    parents[int(name)] = int(stat.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found, front = list[int](), [top]
    while front:
        front = [pid for pid, parent in parents.items() if parent in front]
        found += front
    return found


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
