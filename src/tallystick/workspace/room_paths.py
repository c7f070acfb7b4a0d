"""Which workspace a path belongs to, and where it lies in a room: links followed, spelled from the room's root.

A workspace has one true spelling, its root, and the folders between, where a room may be. All roots of a room are
checkouts of one project, so a path has the same name in each. See also `kernel.scopes`. This module reads the file
system and starts nothing: `git` itself would cost more than everything else in a join.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import msgspec

from tallystick.kernel import scopes
from tallystick.kernel.errors import InvalidField, NotAllowed, NotFound, TallyError, TooLarge
from tallystick.kernel.scopes import GlobNotSupported, PathOutside, RoomPath

MARKERS = ("CLAUDE.md", "AGENTS.md", "package.json", "pyproject.toml", "Cargo.toml", "go.mod")
"""Files that make a folder a workspace where there is no git."""

LONGEST = 4096

_WINDOWS = os.name == "nt"


class WorkspaceNotFound(NotFound):
    """There is nothing at that path."""

    hint = "Name a file or folder that exists, by its absolute path."


class WorkspaceUnreadable(NotAllowed):
    """The user that Tallystick runs as may not look at that path."""

    hint = "Name a path that this user can open, or give it access to every folder on the way."


class NoWorkspace(NotAllowed):
    """Nothing on the hub's machine is looked at for a caller with a token."""

    hint = "Leave context_path out."


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    requested: str
    canonical: str
    """The folder asked for: links followed, a file's parent, spelled as the file system spells it."""
    root: str
    chain: tuple[str, ...]
    """From `canonical` up to `root`, deepest first."""


def resolve(context_path: str, *, home: Path | None = None) -> Workspace:
    """Find the workspace of an absolute path. What lies in the home folder itself counts for that folder only."""
    canonical = _canonical(_checked(context_path))
    root = _root(canonical, _home(home))
    return Workspace(
        requested=context_path, canonical=canonical, root=root, chain=scopes.folders_up_to(canonical, root)
    )


def _home(home: Path | None) -> str | None:
    try:
        return _spelled(os.path.realpath(home or Path.home()))
    except RuntimeError:
        return None  # A user without an account has no home folder, as in many containers.


def _checked(path: str) -> str:
    if "\0" in path:
        raise InvalidField("A path cannot contain a NUL character.")
    try:
        size = len(path.encode())
    except UnicodeEncodeError as wrong:
        raise InvalidField(f"The path {path[:200]!r} is not valid UTF-8.") from wrong
    if size > LONGEST:
        raise TooLarge(f"The path has {size} bytes; at most {LONGEST} are allowed.", limit=LONGEST)
    if not scopes.is_absolute(path, windows=_WINDOWS):
        raise InvalidField(f"'{path[:200]}' is not an absolute path.", hint="Send the full path; `~` is not expanded.")
    return path


def _canonical(path: str) -> str:
    try:
        real = Path(os.path.realpath(path, strict=True))
        folder = real if stat.S_ISDIR(real.stat().st_mode) else real.parent
    except OSError as wrong:
        raise _refusal(path, wrong) from wrong
    return _checked(_spelled(str(folder)))


def _spelled(real: str) -> str:
    return true_case(scopes.normalised_path(real, windows=_WINDOWS))


def _refusal(path: str, wrong: OSError) -> TallyError:
    if wrong.errno in {errno.ENOENT, errno.ENOTDIR}:
        return WorkspaceNotFound(f"There is nothing at {path}, or it is a link to something that does not exist.")
    if wrong.errno == errno.ELOOP:
        return WorkspaceNotFound(f"{path} leads into a loop of symbolic links.")
    if wrong.errno == errno.ENAMETOOLONG:
        return InvalidField("A name in the path is longer than the file system allows.")
    return WorkspaceUnreadable(f"{path} cannot be looked at: {wrong.strerror}.")


def _root(canonical: str, home: str | None) -> str:
    candidates = scopes.folders_above(canonical)
    if home in candidates[1:]:
        # Dotfiles under git and agent notes in the home folder say nothing about the projects below it.
        candidates = candidates[: candidates.index(home)]
    folders = [Path(each) for each in candidates]
    found = next(filter(_is_repository, folders), None) or next(filter(_is_marked, folders), None)
    return candidates[folders.index(found)] if found else canonical


def _is_marked(folder: Path) -> bool:
    try:
        return any((folder / marker).is_file() for marker in MARKERS)
    except OSError:
        return False  # A folder that may not be entered shows no markers.


def _is_repository(folder: Path) -> bool:
    """Whether git has its top level here: a `.git` folder, or the file that a worktree or a submodule has instead."""
    git = folder / ".git"
    try:
        mode = git.stat().st_mode
    except OSError:
        return False
    try:
        if stat.S_ISDIR(mode):
            (git / "HEAD").lstat()
            return True
        # Only a regular file is opened: anyone may leave a pipe here, and opening one waits for ever.
        return stat.S_ISREG(mode) and _first_bytes(git, 7) == b"gitdir:"
    except PermissionError:
        return True  # Somebody else's repository is still one.
    except OSError:
        return False


def _first_bytes(file: Path, count: int) -> bytes:
    with file.open("rb") as opened:
        return opened.read(count)


def is_insensitive(path: Path) -> bool:
    """Whether the file system takes the last name of an existing path in another case for the same file."""
    other = "".join(swapped if len(swapped := letter.swapcase()) == 1 else letter for letter in path.name)
    if other == path.name:
        return False
    try:
        return os.path.samestat((path.parent / other).lstat(), path.lstat())
    except OSError:
        return False


def true_case(path: str, *, insensitive: Callable[[Path], bool] = is_insensitive) -> str:
    """Spell an existing path as its folders list it. Each name is asked about, since a mount can begin anywhere."""
    top, *below = (Path(each) for each in reversed(scopes.folders_above(path)))
    true = top
    for each in below:
        here = true / each.name
        true = true / _listed(here) if insensitive(here) else here
    return true.as_posix()


def _listed(path: Path) -> str:
    try:
        names = [each.name for each in path.parent.iterdir()]
    except OSError:
        return path.name
    if path.name in names:
        return path.name
    return next((each for each in names if _folded(each) == _folded(path.name)), path.name)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


class RoomRoots(msgspec.Struct, frozen=True, kw_only=True):
    """The room's roots on this machine, outermost first, and the one that relative paths start from."""

    roots: tuple[str, ...] = ()
    start: str = ""


def folder_in_room(folder: str, at: RoomRoots) -> str:
    """The folder itself, if it lies in the room."""
    if file_in_room(folder, at) is None or not at.roots:
        raise PathOutside(f"'{folder[:200]}' is not inside this room.", path=folder)
    return folder


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


def names_in_room(text: str, at: RoomRoots) -> list[RoomPath]:
    """A path as it is written and where its links lead: to replace a link changes the one, to write to it the other."""
    named = _named(text, at)
    target = file_in_room(text, at)
    return [each for each in dict.fromkeys((target, named)) if each is not None]


def _named(text: str, at: RoomRoots) -> RoomPath | None:
    """The path by its spelling alone, where that lies below a root."""
    path = scopes.normalised_path(os.path.normpath(_joined(scopes.literal(text), at)), windows=_WINDOWS)
    for root in at.roots:
        folds = insensitive(root)
        if (key := _below(path, root, folds=folds)) is not None:
            return scopes.room_path(unicodedata.normalize("NFC", key), folds=folds)
    return None


def _exists(text: str, at: RoomRoots) -> bool:
    return bool(at.roots) and os.path.lexists(_joined(text, at))


def _place(text: str, at: RoomRoots) -> tuple[str, bool]:
    if not at.roots:
        return scopes.relative(text), False
    if not scopes.is_absolute(text, windows=_WINDOWS) and text[:2] == "~/":
        raise PathOutside(f"'{text[:200]}' is not inside this room: `~` is not expanded.", path=text)
    real = scopes.normalised_path(os.path.realpath(_joined(text, at)), windows=_WINDOWS)
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
