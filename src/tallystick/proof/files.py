"""The files that refs name, looked at on this machine's disk: what they hold and when they last changed."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from tallystick.proof import tracked
from tallystick.proof.refs import RefKind, parse

LARGEST = 64 * 1024 * 1024
_PIECE = 1 << 20
_ABSENT = "there is no such file in the workspace"
_UNTRACKED = "no file of that name is tracked by git, and with a token no other is looked at"


class FileFact(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of a file; without a hash, why there is none."""

    sha256: str | None = None
    changed_at: int = 0
    """When its content last changed, in ms."""
    reachable: bool = True
    """Whether its place can be looked at from here at all."""
    why: str = ""


def named(texts: Iterable[str]) -> list[str]:
    """The paths that refs name, each once."""
    return sorted({ref.value for text in texts if (ref := parse(text)).kind is RefKind.FILE and ref.value})


class FilesToRead(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be read from disk: the files of these refs, below these folders of this machine."""

    refs: Sequence[str] = ()
    roots: Sequence[Path] = ()
    tracked_only: bool = False
    """Read only what git tracks: the hash of a secret that lies beside the code must not be had by naming its file."""


def survey(wanted: FilesToRead) -> Mapping[str, FileFact]:
    """The facts about every file that the refs name, by the path as it was written."""
    known = [root.resolve() for root in wanted.roots if root.is_dir()]
    shown = {root: tracked.files(root) for root in known} if wanted.tracked_only else None
    return {path: _fact(path, known, shown) for path in named(wanted.refs)}


def find(path: str, bases: Sequence[Path], root: Path) -> Path | None:
    """The file that is meant, tried below each base; nothing outside the root."""
    try:
        inside = [real for base in bases if (real := (base / path).resolve()).is_relative_to(root)]
        return next((real for real in inside if real.is_file()), None)
    except (OSError, ValueError, RuntimeError):
        # A path with a NUL in it, and before Python 3.13 a link that leads to itself.
        return None


def measured(file: Path) -> FileFact:
    """What is in a file that is there."""
    try:
        about = file.stat()
        changed = about.st_mtime_ns // 1_000_000
        if about.st_size > LARGEST:
            return FileFact(reachable=False, changed_at=changed, why="it is too large to be read")
        return FileFact(sha256=_digest(file), changed_at=changed)
    except OSError:
        return FileFact(why="it cannot be read")


def _fact(path: str, roots: list[Path], shown: Mapping[Path, Container[str]] | None) -> FileFact:
    if not roots:
        return FileFact(reachable=False, why="this hub cannot see the files of the job")
    for root in roots:
        file = find(path, [root], root)
        if file and (shown is None or str(file.relative_to(root)) in shown[root]):
            return measured(file)
    return FileFact(why=_ABSENT if shown is None else _UNTRACKED)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
