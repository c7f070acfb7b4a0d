"""Plays a harness that works for many windows: its first argument says so, the second lists the children it starts."""

from __future__ import annotations

import json
import subprocess
import sys

for child in json.loads(sys.argv[2]):
    subprocess.run(child["argv"], env=child["env"], stdin=subprocess.DEVNULL, check=True)
sys.stdout.write("ready\n")
sys.stdout.flush()
sys.stdin.read()
