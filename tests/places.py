"""Where a store is. Imports little, for the programs of tests that open one in a process of their own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tallystick.storage.port import Store, open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a store is; any number of processes may open it."""

    data_dir: Path
    database_url: str | None

    def open(self) -> Store:
        return open_store(self.database_url, self.data_dir)
