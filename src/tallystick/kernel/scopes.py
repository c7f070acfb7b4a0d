"""Paths and scopes as text: what a path is called inside its room, and what overlaps or lies inside what. No disk here.

A path of ours is absolute and has forward slashes, on Windows too (`C:/work`, `//server/share/work`). A scope is a file
or a folder with everything below it; `src/*` is the folder `src`.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from pathlib import PurePath, PurePosixPath, PureWindowsPath

import msgspec

from tallystick.kernel.errors import InvalidField, InvalidInput, TooLarge

_WINDOWS_PATH = re.compile(r"[A-Za-z]:/|//")

LONGEST = 4096

_WINDOWS_ROOT = re.compile(r"[A-Za-z]:(/|$)")


def normalised_path(path: str, *, windows: bool = False) -> str:
    """One forward slash between names and none at the end. `..` stays: only the file system knows where it leads."""
    if windows:
        return PureWindowsPath(path).as_posix()
    # POSIX lets exactly two leading slashes mean something else; no system we run on does.
    return PurePosixPath("/" + path.lstrip("/") if path.startswith("/") else path).as_posix()


def is_absolute(path: str, *, windows: bool = False) -> bool:
    return (PureWindowsPath if windows else PurePosixPath)(path).is_absolute()


def folders_above(path: str) -> tuple[str, ...]:
    """The path itself and every folder above it, deepest first."""
    pure = _pure_path(path)
    return tuple(each.as_posix() for each in (pure, *pure.parents))


def is_inside(path: str, root: str) -> bool:
    """Whether `path` is `root` or lies below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def folders_up_to(path: str, root: str) -> tuple[str, ...]:
    """The path and the folders above it up to and including `root`, deepest first."""
    if not is_inside(path, root):
        raise ValueError(f"{path} is not inside {root}")
    return tuple(each for each in folders_above(path) if is_inside(each, root))


def _pure_path(path: str) -> PurePath:
    return PureWindowsPath(path) if _WINDOWS_PATH.match(path) else PurePosixPath(path)


class PathOutside(InvalidInput):
    """That path is not inside this room."""

    hint = "Name a path below the room's root, relative to it or absolute; links count where they lead."


class GlobNotSupported(InvalidInput):
    """Only a whole folder can be named by pattern."""

    hint = "Name the folder (`src/*` and `src` mean the same), or each path by itself."


class Overlap(StrEnum):
    EXACT = "exact"
    PARTIAL = "partial"
    DISJOINT = "disjoint"


class RoomPath(msgspec.Struct, frozen=True, kw_only=True):
    """A path in a room. `key` is relative to the room's root and empty for the root itself."""

    path: str
    """As it is shown: the key, with `/*` where it was written so."""
    key: str
    folds: bool = False
    """Its file system takes names that differ only in case for the same."""

    @property
    def folded(self) -> str:
        return fold(self.key)


def fold(key: str) -> str:
    """One spelling for all that some file system takes for the same name."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", key).casefold())


def classify(one: RoomPath, other: RoomPath) -> Overlap:
    """How two scopes of one room overlap. Case counts only where neither file system ignores it."""
    a, b = (one.folded, other.folded) if one.folds or other.folds else (one.key, other.key)
    if a == b:
        return Overlap.EXACT
    return Overlap.PARTIAL if _inside(a, b) or _inside(b, a) else Overlap.DISJOINT


def covers(outer: RoomPath, inner: RoomPath) -> bool:
    """Whether the whole of `inner` lies in `outer`."""
    a, b = (outer.folded, inner.folded) if outer.folds or inner.folds else (outer.key, inner.key)
    return a == b or _inside(b, a)


def _inside(key: str, folder: str) -> bool:
    return not folder or key.startswith(folder + "/")


def ancestors(folded: str) -> Sequence[str]:
    """A folded key and the keys of all folders above it, the room's root included."""
    parts = folded.split("/") if folded else []
    return ["", *("/".join(parts[: count + 1]) for count in range(len(parts)))]


class WrittenPath(msgspec.Struct, frozen=True, kw_only=True):
    """A path as somebody wrote it: separators made one, a wildcard at the end taken off."""

    text: str
    wildcard: bool

    @property
    def unusual(self) -> list[str]:
        """Beginnings that look like a glob and may as well be a name: `app/[id]`."""
        parts = self.text.split("/")
        return ["/".join(parts[: at + 1]) for at, part in enumerate(parts) if set("[]{}") & set(part)]


def parse(text: str) -> WrittenPath:
    """Read a path for a reservation; of all wildcards only a `*` as the last name is one."""
    plain = literal(text)
    wildcard = plain == "*" or plain.endswith("/*")
    plain = plain[:-1] if wildcard else plain
    if "*" in plain or "?" in plain:
        raise GlobNotSupported(f"'{text[:200]}' is a pattern; only '/*' at the very end is understood.", path=text)
    return WrittenPath(text=plain or ".", wildcard=wildcard)


def literal(text: str) -> str:
    """A path as plain text, checked, with forward slashes."""
    if "\0" in text:
        raise InvalidField("A path cannot contain a NUL character.", field="path")
    if not text.strip():
        raise InvalidField("The path is empty; the room's root is '.'.", field="path")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as wrong:
        raise InvalidField(f"The path {text[:200]!r} is not valid UTF-8.", field="path") from wrong
    if size > LONGEST:
        raise TooLarge(f"The path has {size} bytes; at most {LONGEST} are allowed.", field="path", limit=LONGEST)
    return text.replace("\\", "/")


def relative(text: str) -> str:
    """The key of a path that is relative to the room's root, by its text alone; refused when it leads out."""
    key = posixpath.normpath(text)
    if posixpath.isabs(key) or _WINDOWS_ROOT.match(key) or key == ".." or key.startswith("../") or key[:2] == "~/":
        raise PathOutside(f"'{text[:200]}' is not inside this room.", path=text)
    return "" if key == "." else unicodedata.normalize("NFC", key)


def room_path(key: str, *, wildcard: bool = False, folds: bool = False) -> RoomPath:
    shown = (f"{key}/*" if key else "*") if wildcard else key or "."
    return RoomPath(path=shown, key=key, folds=folds)


def shown(path: str) -> RoomPath:
    """The scope that is shown like this."""
    key = path.removesuffix("/*")
    return room_path("" if key in {".", "*"} else key)


def lexical(text: str, *, folds: bool = False) -> RoomPath:
    """The scope that a text means where no file system can be asked."""
    read = parse(text)
    return room_path(relative(read.text), wildcard=read.wildcard, folds=folds)
