"""Runs several calls of `tally` in one process and ends with the names of what they loaded."""

from __future__ import annotations

import sys

from tallystick.surfaces.cli.main import main

call: list[str] = []
for word in sys.argv[1:]:
    if word != ",":
        call.append(word)
        continue
    sys.argv = ["tally", *call]
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    if code != 0:
        sys.exit(f"tally {' '.join(call)} failed")
    call = []
sys.stderr.write(" ".join(sys.modules))
