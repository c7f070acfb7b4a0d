"""What a session left behind: the files that git calls changed. It runs `git`, so it is done before any transaction."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

import msgspec

from tallystick.capabilities.protocol.model import Traces
from tallystick.capabilities.rooms import placing
from tallystick.capabilities.rooms.placing import Ground as Place
from tallystick.kernel import scopes
from tallystick.kernel.scopes import Spot

PATIENCE_SECONDS = 20


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Uncommitted files of a checkout as places in the room; None when there is no repository."""

    spots: Sequence[Spot] | None


def changes(folder: str, at: Place) -> Changes:
    top = _git(folder, "rev-parse", "--show-toplevel") if folder else None
    listed = _git(folder, "status", "--porcelain=v1", "-z", "--untracked-files=all") if top else None
    if top is None or listed is None:
        return Changes(spots=None)
    root = os.fsdecode(top).rstrip("\n")
    found = [placing.touched(f"{root}/{name}", at) for name in _names(os.fsdecode(listed))]
    return Changes(spots=[spot for spot in found if spot is not None])


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


def traces(found: Changes, scope: Sequence[Spot]) -> Traces:
    """Of some changes, those that lie in a scope."""
    inside = {spot.key for spot in found.spots or () if any(scopes.covers(each, spot) for each in scope)}
    return Traces(scope=scope, files=sorted(inside), looked=found.spots is not None)
