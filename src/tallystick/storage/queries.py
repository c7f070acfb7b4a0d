"""Named SQL: a `.sql` file of blocks headed `-- name --`, with `:name` parameters, in the subset both engines share.

A `<file>.postgres.sql` beside it replaces single blocks for PostgreSQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

_HEAD = re.compile(r"^--\s*(\w+)\s*--.*$", re.MULTILINE)
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|--[^\n]*|/\*.*?\*/|::|:([a-z_]\w*)""", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, eq=False)
class Query:
    """One named statement. Compared by identity, so adapters can cache what they learn about it."""

    name: str
    sqlite: str
    portable_postgres: str

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


class Queries(dict[str, Query]):
    """The queries of one package, by name."""

    def __init__(self, package: str, file: str = "queries.sql") -> None:
        folder = files(package)
        common = _blocks((folder / file).read_text("utf-8"))
        special = folder / file.replace(".sql", ".postgres.sql")
        override = _blocks(special.read_text("utf-8")) if special.is_file() else {}
        if unknown := override.keys() - common.keys():
            raise LookupError(f"{package}: {sorted(unknown)} override no query")
        super().__init__({name: Query(name, sql, override.get(name, sql)) for name, sql in common.items()})
