"""Which files git tracks below a folder, read from its index: git itself would run what a checkout's settings name.

A repository with SHA-256 ids has longer entries and is not read.
"""

from __future__ import annotations

from pathlib import Path

LARGEST_INDEX = 64 * 1024 * 1024
"""An index beyond this counts as unreadable; half a million files fit."""
_HEADER = 12
_NAME_LENGTH = 60
"""Where the flags stand in an entry: its lower twelve bits are the length of the name."""
_EXTENDED = 0x4000


def files(root: Path) -> frozenset[str]:
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
        return parsed(index.read_bytes())
    except (OSError, ValueError, IndexError):
        return []


def parsed(data: bytes) -> list[str]:
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
