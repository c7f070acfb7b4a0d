"""What `tally install` has put where, kept in the data directory so that `tally uninstall` takes back exactly that."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import cast

FILE = "installed.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One file: the pieces that were inserted, oldest first, and whether the file and its folders are of our making."""

    pieces: tuple[str, ...] = ()
    created: bool = False
    folders: tuple[str, ...] = field(default=())
    """Folders that were made for it, deepest first."""

    def then(self, *pieces: str) -> Receipt:
        return replace(self, pieces=(*self.pieces, *pieces))


class Receipts:
    """The receipts of one data directory, by the file's path."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / FILE
        self._known = self._read()

    def of(self, path: Path) -> Receipt | None:
        return self._known.get(str(path))

    def paths(self) -> list[Path]:
        return [Path(each) for each in self._known]

    def keep(self, changes: Mapping[Path, Receipt | None]) -> None:
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

    def _read(self) -> dict[str, Receipt]:
        try:
            found = cast("dict[str, dict[str, object]]", json.loads(self._file.read_bytes()))
            return {path: _receipt(each) for path, each in found.items()}
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            # Without receipts our entries are still recognised by what they say.
            return {}


def _receipt(data: Mapping[str, object]) -> Receipt:
    return Receipt(
        pieces=tuple(str(each) for each in cast("list[object]", data["pieces"])),
        created=data["created"] is True,
        folders=tuple(str(each) for each in cast("list[object]", data["folders"])),
    )
