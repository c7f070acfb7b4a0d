"""Whose turn it is to write when several processes want to: each queue here stands for one process."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from tallystick.storage import write_queue
from tallystick.storage.errors import StoreBusy
from tallystick.storage.write_queue import WriteQueue

LONG = 30.0


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "tally.sqlite"


@pytest.fixture
def writing(database: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[WriteQueue]:
    """A process in the middle of its slice, between two transactions."""
    monkeypatch.setattr(write_queue, "SLICE", LONG)
    monkeypatch.setattr(write_queue, "GRACE", LONG)
    queue = WriteQueue(database, LONG)
    queue.acquire()
    queue.release()
    yield queue
    queue.close()


def is_taken(database: Path) -> bool:
    """Whether somebody is the writer at this moment."""
    other = WriteQueue(database, 0.01)
    try:
        other.acquire()
    except StoreBusy:
        return True
    else:
        other.release()
        return False
    finally:
        other.close()


def test_a_writer_that_has_just_let_go_is_left_alone(database: Path, writing: WriteQueue) -> None:
    hasty = WriteQueue(database, 0.05)

    with pytest.raises(StoreBusy):
        hasty.acquire()

    writing.acquire()
    writing.release()
    hasty.close()


def test_a_writer_that_takes_longer_than_the_grace_period_loses_its_turn(
    database: Path, writing: WriteQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient, came = WriteQueue(database, LONG), threading.Event()

    def come() -> None:
        patient.acquire()
        came.set()

    waiting = threading.Thread(target=come)
    waiting.start()
    monkeypatch.setattr(write_queue, "GRACE", 0.0)

    assert came.wait(LONG)
    waiting.join()
    patient.release()
    patient.close()


def test_a_writer_whose_slice_is_over_is_not_waited_for(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_queue, "SLICE", 0.0)
    monkeypatch.setattr(write_queue, "GRACE", LONG)
    first, second = WriteQueue(database, LONG), WriteQueue(database, 1.0)
    first.acquire()
    first.release()

    second.acquire()

    assert is_taken(database)
    second.release()
    assert not is_taken(database)
    first.close()
    second.close()


def test_a_writer_file_with_anything_else_in_it_is_no_obstacle(database: Path) -> None:
    database.with_name("tally.sqlite-writer").write_bytes(b"\xff" * 3)
    queue = WriteQueue(database, 1.0)

    queue.acquire()

    assert is_taken(database)
    queue.release()
    queue.close()


def test_a_queue_without_its_times_still_lets_one_in_at_a_time(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    queue = WriteQueue(database, LONG)
    queue.acquire()

    assert is_taken(database)
    queue.release()
    assert not is_taken(database)
    queue.close()
