"""Changes to a harness's files, worked out in memory first, then written whole and noted in a receipt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tallystick.harnesses.errors import ConfigUnreadable, ConfigUnwritable
from tallystick.harnesses.receipts import Receipt, Receipts


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A file on its way: its text now, what of it is ours, and why something was left alone."""

    path: Path
    text: str | None
    receipt: Receipt | None
    note: str = ""

    def inserted(self, text: str, piece: str) -> Draft:
        receipt = self.receipt or Receipt(created=self.text is None, folders=_missing_folders(self.path))
        return replace(self, text=text, receipt=receipt.then(piece))

    def taken_back(self, chosen: Callable[[str], bool]) -> Draft:
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

    def gone_if_empty(self) -> Draft:
        """No file at all, where it is of our making and nothing is left in it."""
        ours = self.receipt is not None and self.receipt.created
        return replace(self, text=None) if ours and not (self.text or "").strip() else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file before and after; None stands for no file."""

    path: Path
    before: str | None
    after: str | None
    receipt: Receipt | None
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


class Drafts:
    """Several edits, of which two may concern the same file."""

    def __init__(self, receipts: Receipts) -> None:
        self._receipts = receipts
        self._before: dict[Path, str | None] = {}
        self._now: dict[Path, Draft] = {}
        self._what: dict[Path, tuple[str, ...]] = {}

    def edit(self, path: Path, what: str, work: Callable[[Draft], Draft]) -> None:
        if path not in self._now:
            self._before[path] = read(path)
            self._now[path] = Draft(path=path, text=self._before[path], receipt=self._receipts.of(path))
        try:
            self._now[path] = work(self._now[path])
        except ConfigUnreadable as wrong:
            raise ConfigUnreadable(f"{path}: {wrong.message}", hint=wrong.advice, path=str(path)) from None
        self._what[path] = (*self._what.get(path, ()), what)

    def changes(self) -> list[Change]:
        return [
            Change(
                path=path,
                before=self._before[path],
                after=draft.text,
                receipt=draft.receipt,
                what=self._what[path],
                note=draft.note,
            )
            for path, draft in self._now.items()
        ]


def read(path: Path) -> str | None:
    """A file's text, exactly; None where there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as wrong:
        raise ConfigUnreadable(f"{path} cannot be read: {wrong}.", path=str(path)) from None


def _missing_folders(path: Path) -> tuple[str, ...]:
    return tuple(str(each) for each in path.parents if not each.exists())


def apply(changes: Sequence[Change], receipts: Receipts, *, forget: bool = False) -> None:
    """Write the files, then what was written where. `forget` goes with taking everything back."""
    for change in changes:
        if change.before != change.after:
            try:
                _write(change)
            except OSError as wrong:
                text = f"{change.path} cannot be written: {wrong.strerror}."
                raise ConfigUnwritable(text, path=str(change.path)) from None
    receipts.keep({each.path: None if forget and not each.note else each.receipt for each in changes})


def _write(change: Change) -> None:
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


def _emptied(change: Change) -> Iterator[Path]:
    """The folders that were made for this file and hold nothing any more, deepest first."""
    for folder in (Path(each) for each in (change.receipt.folders if change.receipt else ())):
        if folder.is_dir() and not any(folder.iterdir()):
            yield folder
