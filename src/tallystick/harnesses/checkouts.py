"""The other checkouts of a repository: its worktrees, and the one they were made from. Read off git's own files."""

from __future__ import annotations

import os
from pathlib import Path

POINTER = "gitdir: "
AT_MOST = 20


def beside(folder: str) -> list[str]:
    """The roots of the other checkouts of the repository that this folder is in."""
    root = next((each for each in (Path(folder), *Path(folder).parents) if (each / ".git").exists()), None)
    common = _common(root) if root else None
    if root is None or common is None:
        return []
    found = [common.parent, *(_root(entry) for entry in sorted(_entries(common / "worktrees"))[:AT_MOST])]
    return [str(each) for each in found if each is not None and each != root and each.is_dir()]


def _common(root: Path) -> Path | None:
    """The `.git` folder that all checkouts share."""
    git = root / ".git"
    if git.is_dir():
        return git
    pointer = _text(git)
    if not pointer.startswith(POINTER):
        return None
    own = (root / pointer.removeprefix(POINTER)).resolve()
    shared = _text(own / "commondir")
    return (own / shared).resolve() if shared else None


def _entries(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder)]
    except OSError:
        return []


def _root(entry: Path) -> Path | None:
    pointer = _text(entry / "gitdir")
    return Path(pointer).parent if pointer else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
