"""How many of a capability's statements a call makes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries


def noted(monkeypatch: pytest.MonkeyPatch, queries: Queries) -> list[str]:
    """The names of these statements, as they are run from now on."""
    names = list[str]()

    def noting(run: Callable[..., object]) -> Callable[..., object]:
        def noted(tx: Tx, query: object, /, *rest: object, **values: object) -> object:
            # Not before: a package's statements are read when the first one is wanted.
            names.extend(each.name for each in queries.values() if each is query)
            return run(tx, query, *rest, **values)

        return noted

    for verb in ("one", "all", "run"):
        monkeypatch.setattr(Tx, verb, noting(getattr(Tx, verb)))
    return names


def taken(names: list[str]) -> int:
    """How many were noted since this was last asked."""
    count = len(names)
    names.clear()
    return count
