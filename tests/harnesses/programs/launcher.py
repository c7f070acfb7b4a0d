"""Plays the script that starts the real harness: hands its arguments on to the program beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

here = Path(sys.argv[0])
sys.exit(subprocess.run([here.parent / "real" / here.name, *sys.argv[1:]], check=False).returncode)
