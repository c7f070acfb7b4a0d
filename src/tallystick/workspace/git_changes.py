"""What a session left behind: the files that git calls changed. It runs `git`, so it is done before any transaction."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

import msgspec

from tallystick.kernel import scopes
from tallystick.kernel.scopes import RoomPath
from tallystick.workspace import room_paths
from tallystick.workspace.room_paths import RoomRoots

PATIENCE_SECONDS = 20


class WorkLeft(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent's session left uncommitted in a scope."""

    scope: Sequence[RoomPath]
    files: Sequence[str]
    """Uncommitted files in that scope, from the room's root."""
    has_repository: bool


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Uncommitted files of a checkout as paths in the room; None when there is no repository."""

    files: Sequence[RoomPath] | None


def changes(folder: str, at: RoomRoots) -> Changes:
    top = _git(folder, "rev-parse", "--show-toplevel") if folder else None
    listed = _git(folder, "status", "--porcelain=v1", "-z", "--untracked-files=all") if top else None
    if top is None or listed is None:
        return Changes(files=None)
    root = os.fsdecode(top).rstrip("\n")
    found = [room_paths.file_in_room(f"{root}/{name}", at) for name in _names(os.fsdecode(listed))]
    return Changes(files=[each for each in found if each is not None])


def _names(status: str) -> list[str]:
    """The paths of `git status -z`: after a rename or copy comes one more, without a code: where it was before."""
    names, entries = list[str](), iter(status.split("\0"))
    for entry in entries:
        if len(entry) < 4:
            continue
        names.append(entry[3:])
        if set("RC") & set(entry[:2]) and (before := next(entries, "")):
            names.append(before)
    return names


def _git(folder: str, *args: str) -> bytes | None:
    # A hook runs us with variables that point git at another index or repository.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--no-optional-locks", "-C", folder, *args]
    try:
        done = subprocess.run(command, env=environ, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def work_left(found: Changes, scope: Sequence[RoomPath]) -> WorkLeft:
    """Of some changes, those that lie in a scope."""
    inside = {file.key for file in found.files or () if any(scopes.covers(each, file) for each in scope)}
    return WorkLeft(scope=scope, files=sorted(inside), has_repository=found.files is not None)
