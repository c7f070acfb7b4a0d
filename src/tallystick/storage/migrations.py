"""Forward-only migrations: numbered `.sql` files in a package's `schema` folder, applied once each, in order.

An applied migration never changes; its checksum is stored with it, and a store that carries a migration this program
does not know was written by a newer one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    id: str
    """`<package>/<file stem>`, such as `turns/0001_sticks`."""
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def load(package: str) -> Sequence[Migration]:
    folder = files(package) / "schema"
    name = package.rpartition(".")[2]
    return [
        Migration(id=f"{name}/{file.name.removesuffix('.sql')}", sql=file.read_text("utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".sql")
    ]
