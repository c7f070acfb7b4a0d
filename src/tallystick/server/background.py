"""A hub that goes on after the command that started it: `tally up --detach`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tallystick.kernel.json_values import object_of

UP = (sys.executable, "-P", "-m", "tallystick.surfaces.cli.main", "--json", "up")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundStart:
    """What the hub said when it had started, or why it did not."""

    code: int
    line: str
    """Its envelope, as it was printed."""
    data: dict[str, object]
    error: dict[str, object]


def start(options: Sequence[str], log: Path) -> BackgroundStart:
    """Start a hub in a session of its own and wait until it takes connections; what it complains of goes to its log."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("ab") as complaints:
        log.chmod(0o600)
        process = subprocess.Popen(
            [*UP, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,
            text=True,
        )
    said = process.stdout.readline().rstrip("\n") if process.stdout else ""
    envelope = object_of(json.loads(said)) if said else {}
    code = 0 if envelope.get("ok") else process.wait()
    error = object_of(envelope.get("error")) or {"message": "The hub ended at once.", "hint": f"Read {log}."}
    return BackgroundStart(code=code, line=said, data=object_of(envelope.get("data")), error=error)
