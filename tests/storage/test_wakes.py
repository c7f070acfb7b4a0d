"""Waking those who wait in a room, on every engine and with every way of watching a file."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from tallystick.kernel.errors import InvalidField
from tallystick.storage import wake_files
from tallystick.storage.port import EVERY_ROOM, Store, Watch
from tallystick.storage.sql_files import Query
from tallystick.storage.sqlite import SqliteStore
from tallystick.storage.wake_files import PollingWatch, WakeFiles
from tests.places import Place

ROOM, OTHER = "0190a1b2-room", "0190a1b2-other"
WATCHERS = ["inotify" if sys.platform == "linux" else "kqueue", "poll"]
LONG = 30.0
"""Longer than any wake takes; nobody waits for it while things work."""


@pytest.fixture(params=[*WATCHERS, pytest.param("postgres", marks=pytest.mark.postgres)])
def waking(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Store]:
    """A store for each way of waking."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        store = Place(data_dir=tmp_path, database_url=url).open()
    else:
        store = SqliteStore(tmp_path / "data" / "tally.sqlite", watcher=request.param)
    yield store
    store.close()


@pytest.fixture
def watch(waking: Store) -> Generator[Watch]:
    watch = waking.watch(ROOM)
    yield watch
    watch.close()


def wake(store: Store, *rooms: str) -> None:
    with store.write() as rows:
        for room_id in rooms:
            rows.wake(room_id)


def test_a_wake_between_arming_and_waiting_is_not_lost(waking: Store, watch: Watch) -> None:
    wake(waking, ROOM)

    assert watch.wait(LONG)


def test_a_wake_ends_a_wait_that_has_begun(waking: Store, watch: Watch) -> None:
    waiting = threading.Event()
    woken: list[bool] = []

    def wait() -> None:
        waiting.set()
        woken.append(watch.wait(LONG))

    thread = threading.Thread(target=wait)
    thread.start()
    waiting.wait()
    wake(waking, ROOM)
    thread.join()

    assert woken == [True]


def test_without_a_wake_a_wait_ends_at_its_timeout(waking: Store, watch: Watch) -> None:
    wake(waking, OTHER)

    assert not watch.wait(0.05)


def test_each_wake_is_noticed_however_close_they_are(waking: Store, watch: Watch) -> None:
    noticed: list[bool] = []
    for _ in range(20):
        wake(waking, ROOM)
        noticed.append(watch.wait(LONG))

    assert noticed == [True] * 20


def test_everybody_who_watches_a_room_is_woken(waking: Store) -> None:
    watches = [waking.watch(ROOM) for _ in range(3)]
    wake(waking, ROOM)

    assert [watch.wait(LONG) for watch in watches] == [True] * 3
    for watch in watches:
        watch.close()


def test_who_watches_every_room_is_woken_by_each_of_them_and_by_a_new_one(waking: Store) -> None:
    every = waking.watch(EVERY_ROOM)

    woken: list[bool] = []
    for room_id in (ROOM, ROOM, "another-room"):
        wake(waking, room_id)
        woken.append(every.wait(LONG))

    assert woken == [True, True, True]
    every.close()


def test_a_transaction_that_rolls_back_wakes_nobody(waking: Store, watch: Watch) -> None:
    with pytest.raises(InvalidField):
        wake(waking, ROOM, "not a room")

    assert not watch.wait(0.05)


def test_a_wake_is_seen_only_after_its_commit(waking: Store, watch: Watch) -> None:
    with waking.write() as rows:
        rows.wake(ROOM)
        early = watch.wait(0.05)

    assert not early
    assert watch.wait(LONG)


@pytest.mark.parametrize("room_id", ["", "../escape", "a/b", "a\\b", ".hidden", "a b", "x'; --", "a\x00b", "x" * 200])
def test_an_id_that_could_not_be_a_file_name_is_refused(waking: Store, room_id: str) -> None:
    with pytest.raises(InvalidField):
        waking.watch(room_id)
    with pytest.raises(InvalidField), waking.write() as rows:
        rows.wake(room_id)


def test_a_watch_may_be_closed_twice(waking: Store) -> None:
    watch, other = waking.watch(ROOM), waking.watch(ROOM)

    watch.close()
    watch.close()

    wake(waking, ROOM)
    assert other.wait(LONG)
    other.close()


@pytest.fixture(params=WATCHERS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> WakeFiles:
    return WakeFiles(tmp_path / "wake", request.param)


def test_a_wake_file_that_was_removed_is_made_again(files: WakeFiles) -> None:
    watch = files.watch(ROOM)

    (files.folder / ROOM).unlink()
    assert watch.wait(LONG)
    files.touch(ROOM)
    assert watch.wait(LONG)
    watch.close()


def test_a_wake_file_that_was_replaced_wakes_those_who_watch_the_new_one(
    files: WakeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wake_files, "CHECK_SECONDS", 0.0)
    files.touch(ROOM)
    (files.folder / ROOM).unlink()
    others = WakeFiles(files.folder, files.watcher)
    watch = others.watch(ROOM)

    files.touch(ROOM)

    assert watch.wait(LONG)
    watch.close()


def test_every_wake_of_a_quick_row_is_seen(files: WakeFiles) -> None:
    watch = files.watch(ROOM)

    for _ in range(50):
        files.touch(ROOM)
        assert watch.wait(LONG)
    watch.close()


@pytest.mark.skipif(sys.platform != "linux", reason="counts the files in /proc")
def test_wakes_in_any_number_of_rooms_keep_few_files_open(tmp_path: Path) -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    files = WakeFiles(tmp_path / "wake")
    before = opened()
    for number in range(3 * wake_files.OPEN_FILES):
        files.touch(f"room-{number}")

    assert before < opened() <= before + wake_files.OPEN_FILES
    files.close()
    assert opened() == before


def test_a_wake_gets_through_where_nothing_can_be_written(files: WakeFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    watch = files.watch(ROOM)
    monkeypatch.setattr(os, "pwrite", full)

    files.touch(ROOM)

    assert watch.wait(LONG)
    watch.close()


def test_a_wake_makes_the_file_and_its_folder_when_they_are_missing(files: WakeFiles) -> None:
    files.touch(ROOM)

    assert [path.name for path in files.folder.iterdir()] == [ROOM]
    assert files.folder.stat().st_mode & 0o777 == 0o700
    assert (files.folder / ROOM).stat().st_mode & 0o777 == 0o600


def test_a_wake_that_fails_does_not_fail_the_change(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "tally.sqlite")
    (tmp_path / "wake").write_text("a file where the folder should be")

    with store.write() as rows:
        rows.run(Query("t", "CREATE TABLE notes (text TEXT)", ""))
        rows.wake(ROOM)

    with store.read() as rows:
        assert rows.all(Query("t", "SELECT count(*) AS notes FROM notes", ""), dict) == [{"notes": 0}]
    store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_beyond_the_limit_of_inotify_a_watch_polls(tmp_path: Path) -> None:
    files = WakeFiles(tmp_path / "wake", "inotify")
    limit = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    watches = [files.watch(ROOM) for _ in range(limit + 1)]

    files.touch(ROOM)

    assert isinstance(watches[-1], PollingWatch)
    assert all(watch.wait(LONG) for watch in watches)
    for watch in watches:
        watch.close()


def test_a_quiet_wait_changes_nothing(files: WakeFiles) -> None:
    watch = files.watch(ROOM)
    before = (files.folder / ROOM).stat()

    watch.wait(0.05)

    assert (files.folder / ROOM).stat() == before
    watch.close()
