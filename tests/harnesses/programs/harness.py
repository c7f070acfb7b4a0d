"""Plays a harness, under whatever name it is installed: starts the children its first argument lists.

The one that the test started then waits for it; those started by another have nothing on their standard input.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

for child in json.loads(sys.argv[1]):
    subprocess.run(child["argv"], env=child["env"], stdin=subprocess.DEVNULL, check=True)
if not stat.S_ISCHR(os.fstat(0).st_mode):
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
