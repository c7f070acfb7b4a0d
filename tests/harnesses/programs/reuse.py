"""In a pid namespace of its own, starts one process after another under the same pid."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tallystick.harnesses import processes
from tallystick.kernel.caller import Process

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


def start() -> Process:
    pid = os.fork()
    if pid == 0:
        signal.pause()
    found = processes.facts(pid)
    assert found is not None
    return found


def end(process: Process) -> None:
    os.kill(process.pid, signal.SIGKILL)
    os.waitpid(process.pid, 0)


first = start()
end(first)
second = first
# The kernel counts starts in hundredths of a second, so it takes a few rounds until the mark differs.
while second.started_at == first.started_at:
    LAST_PID.write_text(str(first.pid - 1), "ascii")
    second = start()
    if second.started_at == first.started_at:
        end(second)

same = "same" if first.pid == second.pid else "another"
sys.stdout.write(f"{same} pid, first {processes.state(first)}, second {processes.state(second)}\n")
end(second)
