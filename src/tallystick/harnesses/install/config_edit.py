"""Changes to a harness's files: worked out in memory, written whole, and noted in a receipt.

The receipts lie in the data directory, so that `tally uninstall` takes back exactly what `tally install` has put where.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import msgspec

from tallystick.harnesses.errors import ConfigUnreadable, ConfigUnwritable

FILE = "installed.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallReceipt:
    """One file: the pieces that were inserted, oldest first, and whether the file and its folders are of our making."""

    pieces: tuple[str, ...] = ()
    created: bool = False
    folders: tuple[str, ...] = field(default=())
    """Folders that were made for it, deepest first."""

    def then(self, *pieces: str) -> InstallReceipt:
        return replace(self, pieces=(*self.pieces, *pieces))


class InstallReceipts:
    """The receipts of one data directory, by the file's path."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / FILE
        self._known = self._read()

    def of(self, path: Path) -> InstallReceipt | None:
        return self._known.get(str(path))

    def paths(self) -> list[Path]:
        return [Path(each) for each in self._known]

    def keep(self, changes: Mapping[Path, InstallReceipt | None]) -> None:
        """Replace receipts; None forgets one. A file that holds none is removed."""
        for path, receipt in changes.items():
            self._known.pop(str(path), None)
            if receipt:
                self._known[str(path)] = receipt
        if not self._known:
            self._file.unlink(missing_ok=True)
            return
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self._file.with_name(f".{FILE}.{os.getpid()}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({path: asdict(each) for path, each in self._known.items()}, file, indent=1)
        part.replace(self._file)

    def _read(self) -> dict[str, InstallReceipt]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, InstallReceipt])
        except (OSError, ValueError, msgspec.MsgspecError):
            # Without receipts our entries are still recognised by what they say.
            return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDraft:
    """A file on its way: its text now, what of it is ours, and why something was left alone."""

    path: Path
    text: str | None
    receipt: InstallReceipt | None
    note: str = ""

    def inserted(self, text: str, piece: str) -> FileDraft:
        receipt = self.receipt or InstallReceipt(created=self.text is None, folders=_missing_folders(self.path))
        return replace(self, text=text, receipt=receipt.then(piece))

    def taken_back(self, chosen: Callable[[str], bool]) -> FileDraft:
        """Without the chosen pieces, as far as they are still there exactly as they were inserted.

        The latest goes first: it may stand in the middle of an earlier one.
        """
        if self.receipt is None or self.text is None:
            return self
        text, kept = self.text, list[str]()
        for piece in reversed(self.receipt.pieces):
            if not chosen(piece):
                kept.insert(0, piece)
            elif text.count(piece) == 1:
                text = text.replace(piece, "")
        return replace(self, text=text, receipt=replace(self.receipt, pieces=tuple(kept)))

    def gone_if_empty(self) -> FileDraft:
        """No file at all, where it is of our making and nothing is left in it."""
        ours = self.receipt is not None and self.receipt.created
        return replace(self, text=None) if ours and not (self.text or "").strip() else self


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file before and after; None stands for no file."""

    path: Path
    before: str | None
    after: str | None
    receipt: InstallReceipt | None
    what: tuple[str, ...] = field(default=())
    """What of ours is in question, in words."""
    note: str = ""

    @property
    def action(self) -> str:
        if self.before == self.after:
            return "kept" if self.note else "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"


class ConfigEdits:
    """Several edits, of which two may concern the same file."""

    def __init__(self, receipts: InstallReceipts) -> None:
        self._receipts = receipts
        self._before: dict[Path, str | None] = {}
        self._now: dict[Path, FileDraft] = {}
        self._what: dict[Path, tuple[str, ...]] = {}

    def edit(self, path: Path, what: str, work: Callable[[FileDraft], FileDraft]) -> None:
        if path not in self._now:
            self._before[path] = read_text(path)
            self._now[path] = FileDraft(path=path, text=self._before[path], receipt=self._receipts.of(path))
        try:
            self._now[path] = work(self._now[path])
        except ConfigUnreadable as wrong:
            raise ConfigUnreadable(f"{path}: {wrong.message}", hint=wrong.declared, path=str(path)) from None
        self._what[path] = (*self._what.get(path, ()), what)

    def changes(self) -> list[FileChange]:
        return [
            FileChange(
                path=path,
                before=self._before[path],
                after=draft.text,
                receipt=draft.receipt,
                what=self._what[path],
                note=draft.note,
            )
            for path, draft in self._now.items()
        ]


def read_text(path: Path) -> str | None:
    """A file's text, exactly; None where there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as wrong:
        raise ConfigUnreadable(f"{path} cannot be read: {wrong}.", path=str(path)) from None


def _missing_folders(path: Path) -> tuple[str, ...]:
    return tuple(str(each) for each in path.parents if not each.exists())


def apply(changes: Sequence[FileChange], receipts: InstallReceipts, *, forget: bool = False) -> None:
    """Write the files, then what was written where. `forget` goes with taking everything back."""
    for change in changes:
        if change.before != change.after:
            try:
                _write(change)
            except OSError as wrong:
                text = f"{change.path} cannot be written: {wrong.strerror}."
                raise ConfigUnwritable(text, path=str(change.path)) from None
    receipts.keep({each.path: None if forget and not each.note else each.receipt for each in changes})


def _write(change: FileChange) -> None:
    """Put the whole file in place at once. A link stays a link, and the file keeps its mode."""
    if change.after is None:
        change.path.unlink()
        for folder in _emptied(change):
            folder.rmdir()
        return
    real = change.path.resolve()
    real.parent.mkdir(parents=True, exist_ok=True)
    part = real.with_name(f".{real.name}.tally")
    part.write_bytes(change.after.encode())
    part.chmod(real.stat().st_mode & 0o7777 if real.exists() else 0o644)
    part.replace(real)


def _emptied(change: FileChange) -> Iterator[Path]:
    """The folders that were made for this file and hold nothing any more, deepest first."""
    for folder in (Path(each) for each in (change.receipt.folders if change.receipt else ())):
        if folder.is_dir() and not any(folder.iterdir()):
            yield folder
