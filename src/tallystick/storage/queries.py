"""Named SQL: a `.sql` file of blocks headed `-- name --`, with `:name` parameters, in the subset both engines share.

A `<file>.postgres.sql` beside it replaces single blocks for PostgreSQL.
"""

from __future__ import annotations

import re
from functools import cached_property
from importlib import import_module
from pathlib import Path

_HEAD = re.compile(r"^--\s*(\w+)\s*--.*$", re.MULTILINE)
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|--[^\n]*|/\*.*?\*/|::|:([a-z_]\w*)""", re.IGNORECASE | re.DOTALL)


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
