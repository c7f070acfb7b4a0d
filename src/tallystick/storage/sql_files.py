"""The `.sql` files of a package: its named queries, and the numbered migrations in its `schema` folder.

A file of queries has blocks headed `-- name --`, with `:name` parameters, in the subset both engines share; a
`<file>.postgres.sql` beside it replaces single blocks. Migrations go forward only, applied once each, in order; where
the engines differ one is a pair, `<name>.sqlite.sql` and `<name>.postgres.sql`. An applied one never changes: its
checksum is stored with it, and a store with one that this program does not know was written by a newer one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path

import msgspec

from tallystick.storage.errors import StoreDamaged, StoreTooNew

_HEAD = re.compile(r"^--\s*(\w+)\s*--.*$", re.MULTILINE)
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|--[^\n]*|/\*.*?\*/|::|:([a-z_]\w*)""", re.IGNORECASE | re.DOTALL)

_POSTGRES_WORDS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\bAS\s+TEXT\b|\b(TEXT|BLOB)\b(?!\s+COLLATE)", re.IGNORECASE)
_POSTGRES_TYPE = {"TEXT": 'TEXT COLLATE "C"', "BLOB": "BYTEA"}


class Query:
    """One named statement. Compared by identity, so adapters can cache what they learn about it."""

    def __init__(self, name: str, sqlite: str, portable_postgres: str) -> None:
        self.name = name
        self.sqlite = sqlite
        self.portable_postgres = portable_postgres

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of PostgreSQL's parameters `$1`, `$2` and so on."""
        named = (found[1] for found in _TOKEN.finditer(self.portable_postgres))
        return tuple(dict.fromkeys(filter(None, named)))

    @cached_property
    def numbered(self) -> str:
        """The statement with numbered parameters, as PostgreSQL wants it."""

        def number(found: re.Match[str]) -> str:
            return f"${self.parameters.index(found[1]) + 1}" if found[1] else found[0]

        return _TOKEN.sub(number, self.portable_postgres)


def _blocks(text: str) -> dict[str, str]:
    pieces = _HEAD.split(text)
    return {name: body.strip().rstrip(";") for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def folder_of(package: str) -> Path:
    """Where a package's files lie. Not `importlib.resources`: it takes longer to load than all of our SQL to read."""
    return Path(import_module(package).__path__[0])


class Queries(dict[str, Query]):
    """The queries of one package, by name; its files are read when the first one is wanted."""

    def __init__(self, package: str, file: str = "queries.sql") -> None:
        super().__init__()
        self._package = package
        self._file = file

    def __missing__(self, name: str) -> Query:
        if not self:
            self.update(self._read())
            return self[name]
        raise KeyError(name)

    def _read(self) -> dict[str, Query]:
        folder = folder_of(self._package)
        common = _blocks((folder / self._file).read_text("utf-8"))
        special = folder / self._file.replace(".sql", ".postgres.sql")
        override = _blocks(special.read_text("utf-8")) if special.is_file() else {}
        if unknown := override.keys() - common.keys():
            raise LookupError(f"{self._package}: {sorted(unknown)} override no query")
        return {name: Query(name, sql, override.get(name, sql)) for name, sql in common.items()}


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


def load_migrations(package: str) -> Sequence[Migration]:
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


def missing_migrations(migrations: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
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
