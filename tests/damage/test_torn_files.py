"""Files that were cut, flipped or left behind: refused or repaired, and never a wrong answer that nobody notices."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tallystick.kernel.errors import Fault
from tests.damage.data_directory import ADA, DataDirectory
from tests.damage.writer import leave_a_log

DAMAGE = {"store_damaged", "not_our_file", "disk_failed"}


def outcome(directory: DataDirectory) -> str:
    """How a damaged store answers: `whole`, `caught` by verification, or the code of its refusal."""
    try:
        with directory.hub() as hub:
            flaws = directory.flaws(hub)
            assert flaws or directory.read(hub) == directory.words, "a wrong answer that verification does not see"
    except Fault as fault:
        return fault.code if fault.advice else "no hint"
    return "caught" if flaws else "whole"


def settle(directory: DataDirectory) -> None:
    """Move everything from the log into the database."""
    with directory.foreign() as connection:
        connection.pragma("wal_checkpoint", "truncate")


def flipped(sound: bytes, at: int, bit: int) -> bytes:
    return sound[:at] + bytes([sound[at] ^ 1 << bit]) + sound[at + 1 :]


def test_a_sound_store_is_found_sound_however_often_it_is_verified(directory: DataDirectory) -> None:
    with directory.hub() as hub:
        for number in range(5):
            hub.call("notes.add", {"room_id": directory.room_id, "body": f"note {number}"}, ADA)
            assert directory.flaws(hub) == []


@pytest.mark.parametrize("kept", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_database_that_was_cut_short_is_refused_or_caught(directory: DataDirectory, kept: float) -> None:
    settle(directory)
    sound = directory.database.read_bytes()
    os.truncate(directory.database, int(len(sound) * kept))

    assert outcome(directory) in DAMAGE | {"caught"}

    directory.database.write_bytes(sound)
    directory.assert_whole()


def test_one_flipped_bit_anywhere_is_refused_or_caught_or_changes_nothing(
    directory: DataDirectory, tmp_path: Path
) -> None:
    settle(directory)
    sound, dice = directory.database.read_bytes(), random.Random(11)
    # Most of a small store is empty pages, where a bit changes nothing.
    written = [at for at, byte in enumerate(sound) if byte]
    seen: Counter[str] = Counter()
    for number in range(100):
        damaged = DataDirectory(tmp_path / str(number), directory.room_id, list(directory.words))
        damaged.folder.mkdir()
        damaged.database.write_bytes(flipped(sound, dice.choice(written), dice.randrange(8)))

        seen[outcome(damaged)] += 1

        shutil.rmtree(damaged.folder)
    assert set(seen) <= DAMAGE | {"caught", "whole"}
    assert min(seen["caught"], seen["whole"]) > 0


@pytest.mark.parametrize(
    ("place", "bit"),
    [
        pytest.param(b"progressed_at BIGINT", 0, id="a column"),
        pytest.param(b"events (", 1, id="a table"),
        pytest.param(b"UNINDEXED", 2, id="an option of the search table"),
        pytest.param(b"session_kind TEXT", 5, id="a capital letter, which SQLite does not mind"),
    ],
)
def test_a_flipped_bit_in_the_schema_is_told_as_damage(directory: DataDirectory, place: bytes, bit: int) -> None:
    settle(directory)
    # Pages that the migrations have left behind hold the same words, so all of them are hit.
    directory.database.write_bytes(directory.database.read_bytes().replace(place, flipped(place, 0, bit)))

    assert outcome(directory) == "store_damaged"


def test_a_schema_of_a_format_that_there_is_not_is_told_as_damage(directory: DataDirectory) -> None:
    settle(directory)
    directory.database.write_bytes(flipped(directory.database.read_bytes(), 47, 0))

    assert outcome(directory) == "store_damaged"


def test_what_a_killed_process_had_acknowledged_is_there_afterwards(directory: DataDirectory) -> None:
    leave_a_log(directory)

    directory.assert_whole()


def test_a_log_that_was_cut_short_leaves_a_sound_beginning(directory: DataDirectory) -> None:
    settled = len(directory.words)
    leave_a_log(directory)
    os.truncate(directory.log, directory.log.stat().st_size // 2)

    with directory.hub() as hub:
        left = directory.read(hub)
        assert directory.flaws(hub) == []

    assert settled <= len(left) < len(directory.words)
    assert left == directory.words[: len(left)]


def test_a_log_that_was_deleted_leaves_what_was_settled(directory: DataDirectory) -> None:
    settled = list(directory.words)
    leave_a_log(directory)
    directory.log.unlink()

    with directory.hub() as hub:
        assert (directory.read(hub), directory.flaws(hub)) == (settled, [])


def test_a_flipped_bit_in_the_log_leaves_a_sound_beginning(directory: DataDirectory, tmp_path: Path) -> None:
    leave_a_log(directory)
    database, log, dice = directory.database.read_bytes(), directory.log.read_bytes(), random.Random(5)
    for number in range(20):
        damaged = DataDirectory(tmp_path / str(number), directory.room_id)
        damaged.folder.mkdir()
        damaged.database.write_bytes(database)
        damaged.log.write_bytes(flipped(log, dice.randrange(len(log)), dice.randrange(8)))

        with damaged.hub() as hub:
            left = damaged.read(hub)
            assert (left, damaged.flaws(hub)) == (directory.words[: len(left)], [])


def test_an_old_copy_of_the_database_under_a_newer_log_is_refused_or_caught(directory: DataDirectory) -> None:
    settle(directory)
    old = directory.database.read_bytes()
    with directory.hub() as hub:
        for _ in range(60):
            directory.append(hub, 2000)
    settle(directory)
    leave_a_log(directory, events=5)
    directory.database.write_bytes(old)

    assert outcome(directory) in DAMAGE | {"caught"}


def test_a_log_without_its_database_is_refused_instead_of_dropped(directory: DataDirectory) -> None:
    leave_a_log(directory)
    away = directory.database.rename(directory.folder / "away")

    assert outcome(directory) == "store_damaged"
    assert directory.tally("join", "/").is_refusal(4, "store_damaged")

    away.rename(directory.database)
    directory.assert_whole()
