"""What git says of a checkout: its branch, and the files that a session left changed.

It reads the disk and runs `git`, so it is done before any transaction.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tallystick.kernel import scopes
from tallystick.kernel.scopes import RoomPath
from tallystick.workspace import room_paths
from tallystick.workspace.room_paths import RoomRoots

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


class WorkLeft(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent's session left uncommitted in a scope."""

    scope: Sequence[RoomPath]
    files: Sequence[str]
    """Uncommitted files in that scope, from the room's root."""
    has_repository: bool


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Uncommitted files of a checkout as paths in the room; None when there is no repository."""

    files: Sequence[RoomPath] | None


NO_CHANGES = Changes(files=None)
"""For a caller whose word is no reason to look at the disk."""

_INERT = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "safe.bareRepository=explicit", "-c", "core.attributesFile=/dev/null"),
)
"""A checkout's own configuration may name programs: whoever can write to it must not choose what runs here."""
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
"""An object that is missing would be fetched, with the transport's programs that the checkout's configuration names."""
_STATUS = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty")


def changes(folder: str, at: RoomRoots) -> Changes:
    top = _git(folder, "rev-parse", "--show-toplevel") if folder else None
    listed = _git(folder, *_without_filters(folder), *_STATUS) if top else None
    if top is None or listed is None:
        return Changes(files=None)
    root = os.fsdecode(top).rstrip("\n")
    # The tasks that beads keeps are nobody's unfinished work.
    names = [name for name in _names(os.fsdecode(listed)) if ".beads" not in name.split("/")]
    found = [room_paths.file_in_room(f"{root}/{name}", at) for name in names]
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


def _without_filters(folder: str) -> list[str]:
    """Settings that take every content filter out: to compare a file, `git status` would run the one it has."""
    named = _git(folder, "config", "--name-only", "-z", "--get-regexp", r"^filter\..*\.(clean|process|required)$")
    found = sorted({name for name in os.fsdecode(named or b"").split("\0") if name})
    return [part for name in found for part in ("-c", f"{name}={'false' if name.endswith('.required') else ''}")]


def branch(folder: str) -> str:
    """What is checked out in a folder, without running git: a branch, the start of a commit, or nothing."""
    for each in (Path(folder), *Path(folder).parents):
        # A worktree and a submodule have a file there that says where the rest is.
        elsewhere = _line(each / ".git")
        head = _line(each / (elsewhere.removeprefix("gitdir:").strip() if elsewhere else ".git") / "HEAD")
        if head:
            return _named(head)
    return ""


def _line(file: Path) -> str:
    """The first line of a small file; anyone may leave a pipe in its place, and opening one waits for ever."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            return opened.read(1024).decode("utf-8", "replace").partition("\n")[0]
    except OSError:
        return ""


def _named(head: str) -> str:
    return head.removeprefix("ref: ").removeprefix("refs/heads/") if head.startswith("ref: ") else head[:10]


def _git(folder: str, *args: str) -> bytes | None:
    # A hook runs us with variables that point git at another index or repository.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _OFFLINE
    command = ["git", "--no-optional-locks", "-C", folder, *_INERT, *args]
    try:
        done = subprocess.run(command, env=environ, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def work_left(found: Changes, scope: Sequence[RoomPath]) -> WorkLeft:
    """Of some changes, those that lie in a scope."""
    inside = {file.key for file in found.files or () if any(scopes.covers(each, file) for each in scope)}
    return WorkLeft(scope=scope, files=sorted(inside), has_repository=found.files is not None)
