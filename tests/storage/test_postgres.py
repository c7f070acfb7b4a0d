"""What only PostgreSQL can do to us: lost connections, deadlocks, other people's privileges."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tallystick.storage.errors import (
    BackupUnsupported,
    InvalidDatabaseUrl,
    OutcomeUnknown,
    StoreBusy,
    StoreReadOnly,
    StoreUnreachable,
    UnstorableValue,
)
from tallystick.storage.port import Store, Write
from tallystick.storage.postgres import PostgresStore
from tests.storage.actor import attempt, raise_by, total
from tests.storage.flaky import FlakyNetwork
from tests.storage.items import ADD, ITEM, ITEMS, SCHEMA, TAKE, Item, query
from tests.waiting import eventually

pytestmark = pytest.mark.postgres
LONG = 30.0
LENGTH = query("SELECT LENGTH(CAST(:text AS TEXT)) AS length")


@pytest.fixture
def network(postgres_url: str) -> Generator[FlakyNetwork]:
    network = FlakyNetwork(postgres_url)
    yield network
    network.close()


@pytest.fixture
def shared(network: FlakyNetwork) -> Generator[Store]:
    """A store with the items a and b, reached over the flaky network."""
    store = PostgresStore(network.url)
    store.migrate(SCHEMA)
    with store.write() as rows:
        rows.run(ADD, id="a", count=0)
        rows.run(ADD, id="b", count=0)
    yield store
    store.close()


def test_a_connection_that_died_while_idle_is_replaced_unnoticed(shared: Store, network: FlakyNetwork) -> None:
    network.cut()

    raise_by(shared, 1)

    assert total(shared) == 2


def test_a_session_that_the_server_ended_while_idle_is_replaced_unnoticed(shared: Store, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'tallystick' AND datname = current_database()"
        )

    with shared.write() as rows:
        rows.one(TAKE, Item, id="a")

    assert total(shared) == 1


def test_a_connection_lost_between_statements_is_reported_and_nothing_is_repeated(
    shared: Store, network: FlakyNetwork
) -> None:
    def lose(rows: Write) -> None:
        rows.run(ADD, id="c", count=1)
        rows.one(ITEM, Item, id="c")
        network.cut()
        rows.one(ITEM, Item, id="c")

    with pytest.raises(StoreUnreachable), shared.write() as rows:
        lose(rows)

    with shared.read() as rows:
        assert [item.id for item in rows.all(ITEMS, Item)] == ["a", "b"]


@pytest.mark.parametrize(("side", "reached"), [("before", False), ("after", True)])
def test_a_connection_lost_while_committing_leaves_the_outcome_unknown(
    shared: Store, network: FlakyNetwork, side: str, reached: bool
) -> None:
    setattr(network, side, b"COMMIT\0")
    with pytest.raises(OutcomeUnknown):
        raise_by(shared, 1)
    setattr(network, side, b"")

    assert total(shared) == (2 if reached else 0)


@pytest.fixture
def impatient(shared: Store, network: FlakyNetwork) -> Generator[Store]:
    """The same store for whoever waits a second for an answer."""
    store = PostgresStore(network.url, patience=0.1)
    assert total(store) == 0
    yield store
    network.thaw()
    store.close()


def test_a_server_that_hangs_is_unreachable_and_later_callers_are_told_at_once(
    impatient: Store, network: FlakyNetwork
) -> None:
    network.freeze()
    with pytest.raises(StoreUnreachable) as first:
        total(impatient)
    with pytest.raises(StoreUnreachable) as second:
        raise_by(impatient, 1)
    network.thaw()

    assert "has not answered for 1.1 s" in first.value.message
    assert second.value.message.endswith("does not answer.")
    assert eventually(lambda: _total(impatient)) == 0


def _total(store: Store) -> int | None:
    try:
        return total(store)
    except StoreUnreachable:
        return None


def test_a_server_that_hangs_while_committing_leaves_the_outcome_unknown(
    impatient: Store, network: FlakyNetwork
) -> None:
    def freeze_last(rows: Write) -> None:
        rows.one(TAKE, Item, id="a")
        network.freeze()

    with pytest.raises(OutcomeUnknown), impatient.write() as rows:
        freeze_last(rows)


def test_a_server_that_hangs_when_it_is_first_listened_to_is_unreachable(
    impatient: Store, network: FlakyNetwork
) -> None:
    network.stalled_by = b"LISTEN"

    with pytest.raises(StoreUnreachable):
        impatient.watch("room")


def test_work_on_the_whole_store_may_take_longer_than_an_answer(impatient: Store) -> None:
    with impatient.write(unhurried=True) as rows:
        assert rows.one(query("SELECT 1 AS one FROM pg_sleep(1.5)"), dict[str, object]) == {"one": 1}


def test_a_lost_listener_comes_back_and_its_return_counts_as_a_wake(shared: Store, network: FlakyNetwork) -> None:
    watch = shared.watch("room")

    network.cut()
    assert watch.wait(LONG)
    with shared.write() as rows:
        rows.wake("room")
    assert watch.wait(LONG)
    watch.close()


def test_a_server_that_is_not_there_is_reported_without_the_password() -> None:
    store = PostgresStore("postgresql://ada:se%2Fcret@127.0.0.1:1/tally")

    with pytest.raises(StoreUnreachable) as refused, store.read():
        pass

    told = "".join(traceback.format_exception(refused.value))
    assert "postgresql://ada@127.0.0.1:1/tally" in refused.value.message
    assert ("se/cret" in told, "se%2Fcret" in told) == (False, False)
    store.close()


@pytest.mark.parametrize("url", ["mysql://ada:secret@host/db", "postgresql://ada:secret@host/db?nonsense=1", "secret"])
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidDatabaseUrl) as refused:
        PostgresStore(url)

    assert "secret" not in "".join(traceback.format_exception(refused.value))


def test_the_store_describes_itself_without_the_password(postgres_url: str) -> None:
    store = PostgresStore(make_conninfo(postgres_url, password="secret"))
    about = store.describe()
    store.close()

    assert about == {
        "engine": "postgres",
        "driver": f"psycopg {psycopg.__version__}",
        "location": about["location"],
        "schema": "tallystick",
        "version": about["version"],
        "encoding": "UTF8",
        "lock_timeout": "5s",
        "synchronous": "off",
    }
    assert "secret" not in str(about)


def test_writers_of_one_row_wait_for_each_other_only_so_long(shared: Store, postgres_url: str) -> None:
    impatient = PostgresStore(postgres_url, patience=0.1)
    with shared.write() as rows:
        rows.one(TAKE, Item, id="a")
        with pytest.raises(StoreBusy), impatient.write() as others:
            others.run(TAKE, id="a")
        with impatient.write() as others:
            others.run(TAKE, id="b")

    assert total(shared) == 2
    impatient.close()


def test_of_two_transactions_that_wait_for_each_other_one_is_told_to_try_again(shared: Store) -> None:
    both_hold_one = threading.Barrier(2)
    outcomes: list[str] = []

    def cross(first: str, second: str) -> None:
        def write() -> None:
            with shared.write() as rows:
                rows.one(TAKE, Item, id=first)
                both_hold_one.wait()
                rows.run(TAKE, id=second)

        outcomes.append(attempt(write))

    threads = [threading.Thread(target=cross, args=ids) for ids in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["ok", "store_busy"]
    assert total(shared) == 2


def test_a_user_without_privileges_is_told_so(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS guest")
        admin.execute("CREATE ROLE guest LOGIN")
    store = PostgresStore(make_conninfo(postgres_url, user="guest"))

    with pytest.raises(StoreReadOnly):
        store.migrate(SCHEMA)
    store.close()


def test_text_with_a_nul_is_refused(shared: Store) -> None:
    with pytest.raises(UnstorableValue), shared.write() as rows:
        rows.run(ADD, id="a\x00b", count=1)


def test_a_backup_is_refused_with_the_way_to_make_one(shared: Store, tmp_path: Path) -> None:
    with pytest.raises(BackupUnsupported) as refused:
        shared.backup(tmp_path / "copy")

    assert "tally export" in refused.value.advice


def test_a_statement_may_run_often_enough_to_be_prepared(shared: Store) -> None:
    for _ in range(20):
        with shared.write() as rows:
            rows.run(TAKE, id="a")
            rows.wake("room")
        with shared.read() as rows:
            rows.one(ITEM, Item, id="a")

    assert total(shared) == 20


def test_a_value_that_does_not_fit_into_the_socket_is_sent_as_the_server_takes_it(shared: Store) -> None:
    longs = [letter * 8_000_000 for letter in "xy"]

    with shared.write() as rows:
        found = [rows.one(LENGTH, dict[str, int], text=text) for text in longs]

    assert found == [{"length": 8_000_000}] * 2
