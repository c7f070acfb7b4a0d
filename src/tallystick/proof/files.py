"""The files that refs name, looked at on this machine's disk: what they hold and when they last changed.

Which of them git tracks is read from its index: git itself would run what a checkout's settings name. A repository with
SHA-256 ids has longer entries and is not read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from tallystick.proof.refs import RefKind, parse

LARGEST = 64 * 1024 * 1024
_PIECE = 1 << 20
_ABSENT = "there is no such file in the workspace"
_UNTRACKED = "no file of that name is tracked by git, and with a token no other is looked at"

LARGEST_INDEX = 64 * 1024 * 1024
"""An index beyond this counts as unreadable; half a million files fit."""
_HEADER = 12
_NAME_LENGTH = 60
"""Where the flags stand in an entry: its lower twelve bits are the length of the name."""
_EXTENDED = 0x4000


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
    shown = {root: tracked_files(root) for root in known} if wanted.tracked_only else None
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


def tracked_files(root: Path) -> frozenset[str]:
    """The names of the tracked files, from `root` on; none where there is no repository or no index to be read."""
    for top in (root, *root.parents):
        if (place := _git_folder(top)) is not None:
            below = root.relative_to(top).as_posix()
            prefix = "" if below == "." else f"{below}/"
            names = _names(place / "index")
            return frozenset(name.removeprefix(prefix) for name in names if name.startswith(prefix))
    return frozenset()


def _git_folder(top: Path) -> Path | None:
    """The repository's own folder of a checkout; a working tree beside another has a file that names it."""
    git = top / ".git"
    try:
        if git.is_dir():
            return git
        pointer = git.read_text() if git.is_file() and git.stat().st_size < 10_000 else ""
    except (OSError, UnicodeDecodeError):
        return None
    named = pointer.removeprefix("gitdir: ").rstrip("\n")
    return top / named if pointer.startswith("gitdir: ") else None


def _names(index: Path) -> list[str]:
    try:
        # A pipe of that name would be waited for.
        if not index.is_file() or index.stat().st_size > LARGEST_INDEX:
            return []
        return names_in_index(index.read_bytes())
    except (OSError, ValueError, IndexError):
        return []


def names_in_index(data: bytes) -> list[str]:
    """The names in an index of version 2, 3 or 4, as gitformat-index describes them."""
    if data[:4] != b"DIRC":
        raise ValueError("this is no index")
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    if version not in {2, 3, 4}:
        raise ValueError(f"an index of version {version}")
    names, at, before, room = list[str](), _HEADER, b"", LARGEST_INDEX
    for _ in range(count):
        start = at
        flags = int.from_bytes(data[at + _NAME_LENGTH : at + _NAME_LENGTH + 2])
        at += _NAME_LENGTH + (4 if version >= 3 and flags & _EXTENDED else 2)
        kept = b""
        if version == 4:
            dropped, at = _varint(data, at)
            kept = before[: len(before) - dropped]
        end = data.index(b"\0", at)
        before = kept + data[at:end]
        room -= len(before)
        if room < 0:
            raise ValueError("names that repeat each other beyond any use")
        names.append(before.decode("utf-8", "surrogateescape"))
        # Entries of the older versions are padded with one to eight NULs to a multiple of eight bytes.
        at = end + 1 if version == 4 else start + ((end - start) // 8 + 1) * 8
    return names


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number as version 4 writes it, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
