"""Where a path lies in a room: links followed on this machine, spelled from the room's root.

All roots of a room are checkouts of one project, so a path has the same name in each. See also `kernel.scopes`.
"""

from __future__ import annotations

import os
import unicodedata
from functools import lru_cache
from pathlib import Path

import msgspec

from tallystick.kernel import paths, scopes
from tallystick.kernel.scopes import GlobNotSupported, PathOutside, RoomPath
from tallystick.workspace.roots import is_insensitive

_WINDOWS = os.name == "nt"


class RoomRoots(msgspec.Struct, frozen=True, kw_only=True):
    """The room's roots on this machine, outermost first, and the one that relative paths start from."""

    roots: tuple[str, ...] = ()
    start: str = ""


def scope_in_room(text: str, at: RoomRoots) -> RoomPath:
    """The scope that somebody asks to reserve; refused when it is no path or pattern of this room."""
    read = scopes.parse(text)
    if glob := next((part for part in read.unusual if not _exists(part, at)), None):
        raise GlobNotSupported(f"'{glob[:200]}' looks like a pattern, and nothing of that name exists here.", path=text)
    key, folds = _place(read.text, at)
    return scopes.room_path(key, wildcard=read.wildcard, folds=folds)


def file_in_room(text: str, at: RoomRoots) -> RoomPath | None:
    """The very path that somebody is about to change; None when it lies outside the room."""
    try:
        key, folds = _place(scopes.literal(text), at)
    except PathOutside:
        return None
    return scopes.room_path(key, folds=folds)


def _exists(text: str, at: RoomRoots) -> bool:
    return bool(at.roots) and os.path.lexists(_joined(text, at))


def _place(text: str, at: RoomRoots) -> tuple[str, bool]:
    if not at.roots:
        return scopes.relative(text), False
    if not paths.is_absolute(text, windows=_WINDOWS) and text[:2] == "~/":
        raise PathOutside(f"'{text[:200]}' is not inside this room: `~` is not expanded.", path=text)
    real = paths.normalised(os.path.realpath(_joined(text, at)), windows=_WINDOWS)
    for root in at.roots:
        folds = insensitive(root)
        if (key := _below(real, root, folds=folds)) is not None:
            return unicodedata.normalize("NFC", key), folds
    raise PathOutside(f"'{text[:200]}' is not inside {at.roots[0]}.", path=text, root=at.roots[0])


def _joined(text: str, at: RoomRoots) -> str:
    return str(Path(at.start) / text)


def _below(path: str, root: str, *, folds: bool) -> str | None:
    """The rest of a path below a root; None when it is not there."""
    names, above = path.split("/"), root.rstrip("/").split("/")
    start = names[: len(above)]
    same = [scopes.fold(name) for name in start] == [scopes.fold(name) for name in above] if folds else start == above
    return "/".join(names[len(above) :]) if same else None


@lru_cache(maxsize=64)
def insensitive(root: str) -> bool:
    """Whether names below a root that differ only in case are the same file."""
    return _WINDOWS or is_insensitive(Path(root))
