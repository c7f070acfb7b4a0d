"""Several threads on one store, the queue of writers, and the pool of connections."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tallystick.storage.errors import NestedWrite, StoreBusy
from tallystick.storage.pool import LimitedPool, Pool
from tallystick.storage.port import Store
from tallystick.storage.sqlite import SqliteStore
from tallystick.storage.write_queue import FileLine, ThreadQueue
from tests.storage.actor import attempt, raise_by, total
from tests.storage.items import ADD, SCHEMA, TAKE

LONG = 30.0


def together(*works: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def shared(store: Store) -> Store:
    """A store with the item a=0."""
    store.migrate(SCHEMA)
    with store.write() as rows:
        rows.run(ADD, id="a", count=0)
    return store


@pytest.fixture
def hasty(tmp_path: Path) -> SqliteStore:
    """A SQLite store with the item a=0 and little patience."""
    store = SqliteStore(tmp_path / "tally.sqlite", busy_timeout_ms=50)
    store.migrate(SCHEMA)
    with store.write() as rows:
        rows.run(ADD, id="a", count=0)
    return store


def test_threads_write_and_read_at_once_without_an_error(shared: Store) -> None:
    outcomes: set[str] = set()

    def climb() -> None:
        for _ in range(25):
            outcomes.add(attempt(lambda: raise_by(shared, 1)))
            outcomes.add(attempt(lambda: total(shared)))

    together(*[climb] * 8)

    assert outcomes == {"ok"}
    assert total(shared) == 200


def test_two_stores_on_one_file_in_one_process_exclude_each_other(hasty: SqliteStore, tmp_path: Path) -> None:
    other = SqliteStore(tmp_path / "tally.sqlite", busy_timeout_ms=50)

    with hasty.write() as rows:
        rows.run(TAKE, id="a")
        assert attempt(lambda: raise_by(other, 10)) == "store_busy"
    raise_by(other, 10)

    assert total(hasty) == 11
    hasty.close()
    other.close()


def test_a_thread_that_waits_too_long_for_another_is_told_so(hasty: SqliteStore) -> None:
    outcomes: list[str] = []

    with hasty.write() as rows:
        rows.run(TAKE, id="a")
        together(lambda: outcomes.append(attempt(lambda: raise_by(hasty, 10))))
    raise_by(hasty, 10)

    assert outcomes == ["store_busy"]
    assert total(hasty) == 11
    hasty.close()


def test_a_write_inside_a_write_of_the_same_thread_is_refused_at_once(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "tally.sqlite", busy_timeout_ms=3_600_000)

    with store.write(), pytest.raises(NestedWrite), store.write():
        pass
    with store.write():
        pass
    store.close()


def test_threads_are_served_in_the_order_they_came() -> None:
    queue = ThreadQueue()
    order: list[int] = []
    threads: list[threading.Thread] = []

    def work(number: int) -> None:
        assert queue.acquire(LONG)
        order.append(number)
        queue.release()

    assert queue.acquire(LONG)
    for number in range(10):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
        while queue.length <= number:
            pass
    queue.release()
    for thread in threads:
        thread.join()

    assert order == list(range(10))


def test_a_thread_that_gave_up_is_not_served() -> None:
    queue = ThreadQueue()
    outcomes: list[bool] = []

    assert queue.acquire(LONG)
    together(lambda: outcomes.append(queue.acquire(0.01)))
    queue.release()

    assert outcomes == [False]
    assert queue.acquire(0)
    queue.release()


def open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT)


def test_a_place_in_line_that_comes_too_late_is_given_back(tmp_path: Path) -> None:
    holder, other = open_lock(tmp_path / "line"), open_lock(tmp_path / "line")
    fcntl.flock(holder, fcntl.LOCK_EX)
    line = FileLine(open_lock(tmp_path / "line"))

    assert not line.enter(0.01)
    fcntl.flock(holder, fcntl.LOCK_UN)
    fcntl.flock(other, fcntl.LOCK_EX)
    fcntl.flock(other, fcntl.LOCK_UN)

    assert line.enter(LONG)
    line.leave()
    line.close()
    os.close(holder)
    os.close(other)


def test_who_gave_up_may_join_the_line_again(tmp_path: Path) -> None:
    holder = open_lock(tmp_path / "line")
    fcntl.flock(holder, fcntl.LOCK_EX)
    line = FileLine(open_lock(tmp_path / "line"))
    entered: list[bool] = []

    assert not line.enter(0.01)
    waiting = threading.Thread(target=lambda: entered.append(line.enter(LONG)))
    waiting.start()
    fcntl.flock(holder, fcntl.LOCK_UN)
    waiting.join()

    assert entered == [True]
    line.leave()
    line.close()
    os.close(holder)


def test_a_pool_keeps_a_few_and_closes_the_rest() -> None:
    opened = iter(range(10))
    closed: list[int] = []
    pool: Pool[int] = Pool(lambda: next(opened), closed.append, keep=2)
    borrowers = [object() for _ in range(4)]

    lent = [pool.take(each) for each in borrowers]
    for each in borrowers:
        pool.give(each)
    again = [pool.take(each) for each in borrowers[:3]]

    assert (lent, closed, again) == ([0, 1, 2, 3], [2, 3], [1, 0, 4])


def test_a_connection_that_failed_is_not_lent_again() -> None:
    opened = iter(range(10))
    closed: list[int] = []
    pool: Pool[int] = Pool(lambda: next(opened), closed.append, keep=2)
    borrower = object()

    pool.take(borrower)
    pool.give(borrower, sound=False)

    assert (closed, pool.take(borrower)) == ([0], 1)


def test_a_limited_pool_makes_the_next_one_wait_only_so_long() -> None:
    pool: LimitedPool[int] = LimitedPool(int, abs, keep=1, limit=2, patience=0.01)
    borrowers = [object() for _ in range(3)]
    for each in borrowers[:2]:
        pool.take(each)

    with pytest.raises(StoreBusy):
        pool.take(borrowers[2])
    pool.give(borrowers[0])

    assert pool.take(borrowers[2]) == 0
