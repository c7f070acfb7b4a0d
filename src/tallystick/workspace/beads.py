"""Tasks that a workspace keeps in Beads: read through its own command `bd`, where it is installed; only read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

PATIENCE_SECONDS = 20


class Bead(msgspec.Struct, frozen=True):
    id: str
    assignee: str | None = None
    status: str = ""


_beads = msgspec.json.Decoder(list[Bead]).decode


def in_progress(folder: str) -> Sequence[Bead]:
    """The beads that somebody is working on; none where the workspace does not use them or `bd` does not answer."""
    from shutil import which  # Here: every command that runs without a hub would load it for nothing.

    command = which("bd") if folder and _in_use(Path(folder)) else None
    if command is None:
        return ()
    ask = ["list", "--status", "in_progress", "--json"]
    # Older versions do not know the flag, and listing only reads anyway.
    listed = _run(folder, command, "--readonly", *ask) or _run(folder, command, *ask)
    try:
        found = _beads(listed or b"[]")
    except msgspec.MsgspecError:
        return ()
    return [each for each in found if each.assignee and each.status in ("", "in_progress")]


def _in_use(folder: Path) -> bool:
    return any((each / ".beads").is_dir() for each in (folder, *folder.parents))


def _run(folder: str, *command: str) -> bytes | None:
    import subprocess  # Likewise.

    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
            env=dict(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
