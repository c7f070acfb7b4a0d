"""Forward-only migrations: numbered `.sql` files in a package's `schema` folder, applied once each, in order.

Where the engines differ a migration is a pair, `<name>.sqlite.sql` and `<name>.postgres.sql`. An applied migration
never changes; its checksum is stored with it, and a store that carries a migration this program does not know was
written by a newer one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tallystick.storage.errors import StoreDamaged, StoreTooNew
from tallystick.storage.queries import folder_of

_POSTGRES_WORDS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\bAS\s+TEXT\b|\b(TEXT|BLOB)\b(?!\s+COLLATE)", re.IGNORECASE)
_POSTGRES_TYPE = {"TEXT": 'TEXT COLLATE "C"', "BLOB": "BYTEA"}


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """`<package>/<file stem>`, such as `turns/0001_sticks`."""
    sql: str
    postgres_sql: str = ""
    """Only where the engines differ; otherwise `sql` serves both."""

    @property
    def checksum(self) -> str:
        return hashlib.sha256((self.sql + self.postgres_sql).encode()).hexdigest()

    @property
    def postgres(self) -> str:
        """The statements for PostgreSQL. Text must sort by bytes, as SQLite's does, whatever the server's locale."""

        def translate(found: re.Match[str]) -> str:
            return _POSTGRES_TYPE[found[1].upper()] if found[1] else found[0]

        return _POSTGRES_WORDS.sub(translate, self.postgres_sql or self.sql)


def load(package: str) -> Sequence[Migration]:
    folder = folder_of(package) / "schema"
    name = package.rpartition(".")[2]
    text = {file.name: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".sql")}
    return [
        Migration(
            id=f"{name}/{file.removesuffix('.sql').removesuffix('.sqlite')}",
            sql=text[file],
            postgres_sql=text[file.replace(".sqlite.", ".postgres.")] if ".sqlite." in file else "",
        )
        for file in sorted(text)
        if ".postgres." not in file
    ]


def fingerprint(migrations: Iterable[Migration]) -> int:
    """A number that changes with any migration, small enough for SQLite's `user_version` and never 0."""
    whole = "".join(sorted(each.id + each.checksum for each in migrations))
    return int.from_bytes(hashlib.sha256(whole.encode()).digest()[:4]) & 0x7FFFFFFF or 1


def applied_migration(id: str, checksum: str) -> tuple[str, str]:
    """A row of the table `migrations`."""
    return id, checksum


def missing(migrations: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    """What is still to apply to a store that carries `applied` (id to checksum)."""
    known = {each.id: each.checksum for each in migrations}
    if unknown := sorted(applied.keys() - known.keys()):
        raise StoreTooNew(f"The store was last used by a newer Tallystick: it has {', '.join(unknown)}.")
    if changed := sorted(id for id in applied if applied[id] != known[id]):
        raise StoreDamaged(
            f"The store was built by other migrations than this program's: {', '.join(changed)} differ.",
            hint="Use the Tallystick release that created this store, or export from there and import here.",
        )
    return [each for each in migrations if each.id not in applied]
