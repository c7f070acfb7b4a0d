"""Looks at a process of root as another user, on a system that hides the processes of others."""

from __future__ import annotations

import os
import subprocess
import sys

from tallystick.harnesses import processes

subprocess.run(["mount", "-t", "proc", "-o", "hidepid=2", "proc", "/proc"], check=True)
process = processes.facts(int(sys.argv[1]))
assert process is not None
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
sys.stdout.write(f"{processes.state(process)}\n")
