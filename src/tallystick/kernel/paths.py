"""Paths as text: one separator, the way up, and what lies inside what. Nothing here looks at a file system.

A path of ours is absolute and has forward slashes, on Windows too (`C:/work`, `//server/share/work`).
"""

from __future__ import annotations

import re
from pathlib import PurePath, PurePosixPath, PureWindowsPath

_WINDOWS = re.compile(r"[A-Za-z]:/|//")


def normalised(path: str, *, windows: bool = False) -> str:
    """One forward slash between names and none at the end. `..` stays: only the file system knows where it leads."""
    if windows:
        return PureWindowsPath(path).as_posix()
    # POSIX lets exactly two leading slashes mean something else; no system we run on does.
    return PurePosixPath("/" + path.lstrip("/") if path.startswith("/") else path).as_posix()


def is_absolute(path: str, *, windows: bool = False) -> bool:
    return (PureWindowsPath if windows else PurePosixPath)(path).is_absolute()


def ancestors(path: str) -> tuple[str, ...]:
    """The path itself and every folder above it, deepest first."""
    pure = _pure(path)
    return tuple(each.as_posix() for each in (pure, *pure.parents))


def is_inside(path: str, root: str) -> bool:
    """Whether `path` is `root` or lies below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def chain(path: str, root: str) -> tuple[str, ...]:
    """The path and the folders above it up to and including `root`, deepest first."""
    if not is_inside(path, root):
        raise ValueError(f"{path} is not inside {root}")
    return tuple(each for each in ancestors(path) if is_inside(each, root))


def _pure(path: str) -> PurePath:
    return PureWindowsPath(path) if _WINDOWS.match(path) else PurePosixPath(path)
