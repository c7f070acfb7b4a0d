"""What the migrations made of a SQLite file: how a damaged schema is told apart from a statement of ours that is wrong.

SQLite says "no such column" in both cases. Nobody pays for the comparison before that has happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import cast

import apsw

from tallystick.storage.port import Value
from tallystick.storage.sqlite_file import Connection


class Schema:
    """The statements that a file has been through, once all of them have."""

    __slots__ = ("_made_by",)

    def __init__(self) -> None:
        self._made_by: tuple[str, ...] = ()

    def settle(self, statements: Iterable[str]) -> None:
        """From now on it is what these make; none while it is being changed, when anything may be missing."""
        self._made_by = tuple(statements)

    def is_broken(self, connection: Connection) -> bool:
        """Whether something that was made is no longer there, or no longer as it was made."""
        if not self._made_by:
            return False
        try:
            found = _objects(connection)
        except (apsw.Error, UnicodeDecodeError):
            return True
        with closing(cast("Connection", apsw.Connection(":memory:"))) as afresh:
            for statement in self._made_by:
                afresh.cursor().execute(statement)
            return not _objects(afresh) <= found


def _objects(connection: Connection) -> set[tuple[Value, ...]]:
    return set(connection.cursor().execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall())
