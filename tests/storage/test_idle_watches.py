"""A watch is kept for the next wait, and that next wait must not be able to tell."""

from __future__ import annotations

import multiprocessing
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tallystick.storage.idle_watches import KEPT
from tallystick.storage.wakes import WakeFiles

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is watched by a descriptor there")

ROOM = "0190a1b2-room"
LONG = 30.0


@pytest.fixture
def files(tmp_path: Path) -> WakeFiles:
    return WakeFiles(tmp_path / "wake")


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_what_happened_between_two_waits_wakes_nobody(files: WakeFiles) -> None:
    files.watch(ROOM).close()
    files.touch(ROOM)

    watch = files.watch(ROOM)

    assert not watch.wait(0)
    files.touch(ROOM)
    assert watch.wait(LONG)


def test_two_who_wait_at_once_have_a_watch_each(files: WakeFiles) -> None:
    files.watch(ROOM).close()

    watches = [files.watch(ROOM), files.watch(ROOM)]
    files.touch(ROOM)

    assert [watch.wait(LONG) for watch in watches] == [True, True]


def test_a_file_that_was_removed_between_two_waits_is_made_again(files: WakeFiles) -> None:
    files.watch(ROOM).close()
    (files.folder / ROOM).unlink()

    watch = files.watch(ROOM)
    files.touch(ROOM)

    assert watch.wait(LONG)


def test_only_some_are_kept_and_none_after_the_end(files: WakeFiles) -> None:
    before = descriptors()
    for watch in [files.watch(f"{ROOM}-{number}") for number in range(2 * KEPT)]:
        watch.close()

    kept = descriptors()
    files.close()

    assert (kept - before, descriptors() - before) == (KEPT, 0)


def test_a_forked_child_takes_no_wakes_from_its_parent(files: WakeFiles) -> None:
    files.watch(ROOM).close()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_wait, args=(files, theirs))
    child.start()
    assert ours.recv() == "watching"

    watch = files.watch(ROOM)
    files.touch(ROOM)

    assert (ours.recv(), watch.wait(LONG)) == (True, True)
    child.join()


def _wait(files: WakeFiles, told: Connection) -> None:
    watch = files.watch(ROOM)
    told.send("watching")
    told.send(watch.wait(LONG))
