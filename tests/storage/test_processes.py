"""Several processes on one store: racing, killed, stopped and forked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tallystick.storage.driver_errors import flock_holder
from tallystick.storage.errors import StoreBusy
from tallystick.storage.port import Store
from tallystick.storage.postgres import PostgresStore
from tallystick.storage.sqlite import SqliteStore
from tests.places import Place
from tests.storage.actor import acting, raise_by, total
from tests.storage.items import ADD, ITEMS, SCHEMA, Item


@pytest.fixture
def shared(store: Store) -> Store:
    """A store with one item, whose count the actors raise."""
    store.migrate(SCHEMA)
    with store.write() as rows:
        rows.run(ADD, id="a", count=0)
    return store


@pytest.fixture
def embedded(tmp_path: Path) -> Place:
    """A SQLite store with one item."""
    place = Place(data_dir=tmp_path / "data", database_url=None)
    store = place.open()
    store.migrate(SCHEMA)
    with store.write() as rows:
        rows.run(ADD, id="a", count=0)
    store.close()
    return place


def hasty(place: Place) -> Store:
    """The same store with little patience."""
    if place.database_url:
        return PostgresStore(place.database_url, patience=0.2)
    return SqliteStore(place.data_dir / "tally.sqlite", busy_timeout_ms=200)


def until_next_in_line(place: Place, pid: int) -> None:
    while (holder := flock_holder(place.data_dir / "tally.sqlite-line")) is None or holder.pid != pid:
        pass


def test_eight_processes_write_at_once_without_an_error(shared: Store, place: Place) -> None:
    with acting(place, *["climb"] * 8) as actors:
        assert [actor.hear() for actor in actors] == ["ready"] * 8
        for actor in actors:
            actor.tell()
        outcomes = [actor.hear() for actor in actors]

    assert outcomes == ["ok"] * 8
    assert total(shared) == 400


def test_a_writer_killed_half_way_leaves_nothing_behind(shared: Store, place: Place) -> None:
    with acting(place, "hold") as [actor]:
        assert actor.hear() == "holding"
        actor.kill()

        raise_by(shared, 10)

    assert total(shared) == 10


def test_a_writer_killed_at_any_moment_loses_nothing_it_was_told_was_done(shared: Store, place: Place) -> None:
    with acting(place, *["add_many"] * 3) as actors:
        done: list[int] = []
        for actor in actors:
            assert actor.hear() == "ready"
            heard = [actor.hear() for _ in range(20)]
            actor.kill()
            done.append(int(heard[-1]))

    with shared.read() as rows:
        kept = [item.id for item in rows.all(ITEMS, Item)]
    expected = {f"{actor.pid}-{number}" for actor, ended in zip(actors, done, strict=True) for number in range(ended)}
    assert expected - set(kept) == set()


def test_a_stopped_writer_makes_others_give_up_in_time_and_then_goes_on(shared: Store, place: Place) -> None:
    impatient = hasty(place)
    with acting(place, "hold") as [actor]:
        assert actor.hear() == "holding"
        actor.signal(signal.SIGSTOP)
        with pytest.raises(StoreBusy):
            raise_by(impatient, 10)
        with pytest.raises(StoreBusy):
            raise_by(impatient, 10)
        assert total(impatient) == 0

        actor.signal(signal.SIGCONT)
        actor.tell()
        assert actor.hear() == "committed"
        raise_by(impatient, 10)

    assert total(shared) == 11
    impatient.close()


def test_the_refusal_names_the_process_that_is_stopped(embedded: Place) -> None:
    impatient = hasty(embedded)
    with acting(embedded, "hold") as [actor]:
        assert actor.hear() == "holding"
        actor.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, actor.pid, os.WSTOPPED | os.WNOWAIT)
        with pytest.raises(StoreBusy, match=f"process {actor.pid} .*, which is stopped") as busy:
            raise_by(impatient, 10)

    assert (busy.value.advice, busy.value.details) == (
        f"Continue it (kill -CONT {actor.pid}) or end it, then try again.",
        {"holder_pid": actor.pid},
    )
    impatient.close()


def test_who_gave_up_waiting_does_not_keep_its_place(embedded: Place) -> None:
    first, second = hasty(embedded), hasty(embedded)
    with acting(embedded, "hold") as [actor]:
        assert actor.hear() == "holding"
        with pytest.raises(StoreBusy):
            raise_by(first, 10)
        with pytest.raises(StoreBusy):
            raise_by(second, 10)
        actor.tell()
        assert actor.hear() == "committed"

    raise_by(second, 10)
    raise_by(first, 10)
    assert total(first) == 21
    first.close()
    second.close()


def test_one_who_is_killed_while_it_waits_does_not_keep_the_others(embedded: Place) -> None:
    store = embedded.open()
    with acting(embedded, "hold") as [holder]:
        assert holder.hear() == "holding"
        with acting(embedded, "climb") as [waiting]:
            assert waiting.hear() == "ready"
            waiting.tell()
            until_next_in_line(embedded, waiting.pid)
        holder.tell()
        assert holder.hear() == "committed"

    raise_by(store, 10)
    assert total(store) == 11
    store.close()


def test_a_log_left_behind_is_read_by_the_next_process(embedded: Place) -> None:
    with acting(embedded, "commit_and_stay") as [actor]:
        assert actor.hear() == "committed"
        actor.kill()
    log = embedded.data_dir / "tally.sqlite-wal"
    assert log.stat().st_size > 0

    store = embedded.open()
    assert total(store) == 1
    store.close()


def test_a_forked_child_may_not_use_the_store_and_the_parent_goes_on(shared: Store, place: Place) -> None:
    with acting(place, "fork") as [actor]:
        # A server tells its connections apart; a fork copies what SQLite knows of its locks.
        anew = "forked_store" if shared.engine == "sqlite" else "ok"
        assert actor.hear() == f"child forked_store {anew}"
        assert actor.hear() == "parent ok 101"
        assert actor.ended() == 0

    assert total(shared) == 101
