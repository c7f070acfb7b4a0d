"""A watch is kept for the next wait, and that next wait must not be able to tell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tallystick.storage.wake_files import IDLE_WATCHES, WakeFiles

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
    for watch in [files.watch(f"{ROOM}-{number}") for number in range(2 * IDLE_WATCHES)]:
        watch.close()

    kept = descriptors()
    files.close()

    assert (kept - before, descriptors() - before) == (IDLE_WATCHES, 0)
