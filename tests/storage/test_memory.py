"""What a process may remember from one write to the next: only what nobody can have changed since."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tallystick.storage.port import Store, Write
from tallystick.storage.sqlite import SqliteStore
from tests.conftest import Place
from tests.storage.items import ADD, SCHEMA


class Stop(Exception):
    """What a block raises to be rolled back."""


@pytest.fixture
def mine(place: Place) -> Generator[Store]:
    store = place.open()
    store.migrate(SCHEMA)
    yield store
    store.close()


@pytest.fixture
def theirs(place: Place, mine: Store) -> Generator[Store]:
    """The same store as another process has it."""
    store = place.open()
    yield store
    store.close()


def add(store: Store, id: str) -> None:
    with store.write() as rows:
        rows.run(ADD, id=id, count=1)


def keep(store: Store) -> None:
    with store.write() as rows:
        rows.memory["a"] = 1


def kept(store: Store) -> dict[str, object]:
    with store.write() as rows:
        return dict(rows.memory)


def test_on_sqlite_a_write_finds_what_the_last_one_kept(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "tally.sqlite")
    store.migrate(SCHEMA)
    keep(store)

    assert kept(store) == {"a": 1}
    add(store, "more")
    with store.read():
        assert kept(store) == {"a": 1}
    store.close()


def test_nothing_is_kept_once_somebody_else_has_written(mine: Store, theirs: Store) -> None:
    keep(mine)
    add(theirs, "theirs")

    assert kept(mine) == {}


def test_what_was_kept_before_somebody_else_wrote_never_comes_back(mine: Store, theirs: Store) -> None:
    keep(mine)
    add(theirs, "theirs")
    add(mine, "mine")

    assert kept(mine) == {}


def keep_and_fail(rows: Write) -> None:
    rows.run(ADD, id="a", count=1)
    rows.memory["a"] = 1
    raise Stop


def test_what_a_write_kept_is_forgotten_when_it_is_rolled_back(mine: Store) -> None:
    with pytest.raises(Stop), mine.write() as rows:
        keep_and_fail(rows)

    assert kept(mine) == {}


def test_what_a_write_kept_is_forgotten_when_it_cannot_be_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise Stop

    store = SqliteStore(tmp_path / "tally.sqlite")
    store.migrate(SCHEMA)
    rows = store.write()
    rows.__enter__()
    rows.memory["a"] = 1
    monkeypatch.setattr(rows, "_execute", refused)

    with pytest.raises(Stop):
        rows.__exit__(None, None, None)

    assert kept(store) == {}
    store.close()
