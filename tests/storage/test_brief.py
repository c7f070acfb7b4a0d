"""Reads and writes that are over in a moment or not done at all: what may run where nobody is to be held up."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from time import monotonic
from typing import cast

import apsw
import pytest

from tallystick.kernel.errors import TallyError
from tallystick.storage.errors import StoreBusy
from tallystick.storage.port import NotBrief, Store, open_store
from tallystick.storage.sql_files import Query
from tallystick.storage.sqlite import SqliteStore
from tallystick.storage.sqlite_file import SqliteConnection
from tallystick.storage.sqlite_transaction import LOG_BYTES
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
def test_a_store_behind_a_network_is_never_used_briefly(postgres_url: str, tmp_path: Path) -> None:
    store = open_store(postgres_url, tmp_path)
    with pytest.raises(NotBrief):
        store.brief(PATIENT)
    with pytest.raises(NotBrief):
        store.brief_write(PATIENT)
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


def ids(store: Store) -> list[str]:
    with store.read() as rows:
        return [item.id for item in rows.all(ITEMS, Item)]


def test_a_brief_write_is_committed_and_wakes_those_who_watch(lite: Store) -> None:
    watch = lite.watch("room")
    with lite.brief_write(PATIENT) as rows:
        rows.run(ADD, id="c", count=3)
        rows.wake("room")

    assert watch.wait(10)
    watch.close()
    assert ids(lite) == ["a", "b", "c"]


def test_a_brief_write_waits_for_no_other_writer(lite: Store, tmp_path: Path) -> None:
    other = open_store(None, tmp_path)
    with other.write() as rows:
        rows.run(ADD, id="c", count=3)
        with pytest.raises(NotBrief), lite.brief_write(PATIENT):
            pass
    other.close()

    assert ids(lite) == ["a", "b", "c"]


def test_a_brief_write_waits_for_no_program_that_does_not_queue(lite: Store, tmp_path: Path) -> None:
    stranger = cast("SqliteConnection", apsw.Connection(str(tmp_path / "tally.sqlite")))
    stranger.cursor().execute("BEGIN IMMEDIATE")
    hasty = SqliteStore(tmp_path / "tally.sqlite", busy_timeout_ms=3_600_000)
    try:
        with pytest.raises(StoreBusy), hasty.brief_write(PATIENT):
            pass
    finally:
        hasty.close()
        stranger.close(True)


@pytest.mark.parametrize("seconds", [0, 0.001])
def test_a_brief_write_that_is_late_has_changed_nothing_and_the_next_one_is_sound(lite: Store, seconds: float) -> None:
    def late() -> None:
        with lite.brief_write(seconds) as rows:
            rows.run(ADD, id="c", count=3)
            rows.all(HOPELESS, Item)

    with pytest.raises((NotBrief, TallyError)):
        late()
    with lite.write() as rows:
        rows.all(query(HOPELESS.sqlite.replace("count < 0", "count > 100000 LIMIT 1")), Item)
        rows.run(ADD, id="d", count=4)

    assert ids(lite) == ["a", "b", "d"]


def test_a_long_log_is_left_to_a_write_that_has_time_to_copy_it(lite: Store, tmp_path: Path) -> None:
    change = query("UPDATE items SET body = randomblob(1000000) WHERE id = 'a'")
    log = tmp_path / "tally.sqlite-wal"

    def write_on() -> None:
        for _ in range(LOG_BYTES // 500_000):
            with lite.brief_write(PATIENT) as rows:
                rows.run(change)

    with pytest.raises(NotBrief):
        write_on()
    assert log.stat().st_size >= LOG_BYTES

    for _ in range(2):  # The first one copies the log, the next begins it anew.
        with lite.write() as rows:
            rows.run(change)
    with lite.brief_write(PATIENT) as rows:
        rows.run(ADD, id="c", count=3)
    assert ids(lite) == ["a", "b", "c"]
