"""`tally` in a process whose clock is off by the milliseconds that a file says, and jumps when the file changes."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

EVERY_SECONDS = 0.05
_true_time = time.time_ns
_offset_ns = 0


def _jumping() -> int:
    return _true_time() + _offset_ns


def _look(file: Path) -> None:
    global _offset_ns  # noqa: PLW0603 - the clock of a process is one
    while True:
        with suppress(OSError, ValueError):
            _offset_ns = int(file.read_text()) * 1_000_000
        time.sleep(EVERY_SECONDS)


if __name__ == "__main__":
    time.time_ns = _jumping
    threading.Thread(target=_look, args=(Path(os.environ["CHAOS_CLOCK"]),), daemon=True).start()
    from tallystick.surfaces.cli.main import main

    sys.exit(main())
