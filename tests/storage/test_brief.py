"""Reads that are over in a moment or not done at all: what may run where nobody is to be held up."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from time import monotonic
from typing import cast

import apsw
import pytest

from tallystick.storage.open import open_store
from tallystick.storage.port import NotBrief, Store
from tallystick.storage.queries import Query
from tallystick.storage.sqlite import SqliteStore
from tallystick.storage.sqlite_file import SqliteConnection
from tests.storage.items import ADD, ITEM, ITEMS, SCHEMA, Item, query

PATIENT = 3600.0
ENDLESS = query(
    "WITH RECURSIVE n (count) AS (SELECT 1 UNION ALL SELECT count + 1 FROM n) SELECT 'n' AS id, count FROM n"
)
HOPELESS = query(ENDLESS.sqlite + " WHERE count < 0")


@pytest.fixture
def lite(tmp_path: Path) -> Generator[Store]:
    store = open_store(None, tmp_path)
    store.migrate(SCHEMA)
    with store.write() as rows:
        rows.run(ADD, id="a", count=1)
        rows.run(ADD, id="b", count=2)
    yield store
    store.close()


@pytest.mark.postgres
def test_a_store_behind_a_network_is_never_read_briefly(postgres_url: str, tmp_path: Path) -> None:
    store = open_store(postgres_url, tmp_path)
    with pytest.raises(NotBrief):
        store.brief(PATIENT)
    store.close()


def test_a_brief_read_gives_the_same_rows(lite: Store) -> None:
    with lite.brief(PATIENT) as rows:
        found = rows.all(ITEMS, Item), rows.one(ITEM, Item, id="b"), rows.one(ITEM, Item, id="zebra")

    assert found == ([Item(id="a", count=1), Item(id="b", count=2)], Item(id="b", count=2), None)


def test_a_brief_read_is_one_snapshot(lite: Store) -> None:
    with lite.brief(PATIENT) as rows:
        before = rows.one(ITEM, Item, id="a")
        with lite.write() as other:
            other.run(ADD, id="c", count=3)
        after = rows.all(ITEMS, Item)

    assert (before, len(after)) == (Item(id="a", count=1), 2)


@pytest.mark.parametrize("endless", [ENDLESS, HOPELESS], ids=["rows without end", "a search without end"])
def test_a_statement_without_end_is_given_up_and_the_next_read_is_sound(lite: Store, endless: Query) -> None:
    with pytest.raises(NotBrief), lite.brief(0.001) as rows:
        rows.all(endless, Item)
    with lite.brief(PATIENT) as rows:
        assert rows.one(ITEM, Item, id="a") == Item(id="a", count=1)


def test_many_brief_reads_are_none_the_worse_for_the_steps_of_those_before(lite: Store) -> None:
    for _ in range(2000):
        with lite.brief(PATIENT) as rows:
            assert rows.one(ITEM, Item, id="a") == Item(id="a", count=1)


def test_without_time_not_even_the_first_statement_runs(lite: Store) -> None:
    with pytest.raises(NotBrief), lite.brief(0) as rows:
        rows.one(ITEM, Item, id="a")


def test_rows_that_take_long_to_make_are_given_up(lite: Store) -> None:
    made, over = list[str](), monotonic() + 0.002

    def slow(id: str, count: int) -> Item:
        made.append(id)
        while monotonic() < over:
            pass
        return Item(id=id, count=count)

    with pytest.raises(NotBrief), lite.brief(0.001) as rows:
        rows.all(ITEMS, slow)
    assert len(made) <= 1


def test_a_brief_read_streams_nothing(lite: Store) -> None:
    with lite.brief(PATIENT) as rows, pytest.raises(NotBrief):
        rows.stream(ITEMS, Item)


def test_a_brief_read_waits_for_no_lock(lite: Store, tmp_path: Path) -> None:
    lite.close()
    hoarder = cast("SqliteConnection", apsw.Connection(str(tmp_path / "tally.sqlite")))
    hoarder.pragma("locking_mode", "exclusive")
    hoarder.cursor().execute("BEGIN EXCLUSIVE")
    hasty = SqliteStore(tmp_path / "tally.sqlite", busy_timeout_ms=3_600_000)
    try:
        with pytest.raises(NotBrief), hasty.brief(PATIENT) as rows:
            rows.one(ITEM, Item, id="a")
    finally:
        hasty.close()
        hoarder.close(True)
