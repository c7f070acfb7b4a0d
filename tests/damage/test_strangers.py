"""A file in the store's place that is not ours, or not ours any more, is refused and left as it is."""

from __future__ import annotations

import random

import pytest

from tallystick.hub.hub import Hub
from tests.damage.data_directory import DataDirectory
from tests.scene import refused

NOISE = random.Random(3).randbytes(8192)


def assert_refused(directory: DataDirectory, code: str) -> None:
    """The hub and the command both refuse, and the file stays as it was."""
    before = directory.database.read_bytes()
    with refused(code):
        Hub.open(directory.settings)
    assert directory.tally("rooms").is_refusal(4, code)
    assert directory.database.read_bytes() == before


@pytest.mark.parametrize("content", [b"a text file\n" * 50, b"x", NOISE, b"SQLite format 3\0" + b"\xff" * 4080])
def test_a_file_that_is_not_a_database_is_left_alone(empty: DataDirectory, content: bytes) -> None:
    empty.database.write_bytes(content)

    assert_refused(empty, "not_our_file")


def test_a_database_of_another_program_is_left_alone(empty: DataDirectory) -> None:
    with empty.foreign() as other:
        other.cursor().execute("CREATE TABLE rooms (id INTEGER PRIMARY KEY, price REAL)")

    assert_refused(empty, "not_our_file")


def test_a_folder_in_the_place_of_the_store_is_refused(empty: DataDirectory) -> None:
    empty.database.mkdir()

    with refused("not_our_file"):
        Hub.open(empty.settings)
    assert empty.tally("rooms").is_refusal(4, "not_our_file")


def test_a_file_in_the_place_of_the_data_directory_is_refused(empty: DataDirectory) -> None:
    empty.folder.rmdir()
    empty.folder.write_text("a file")

    with refused("not_our_file"):
        Hub.open(empty.settings)
    assert empty.tally("join", "/").is_refusal(4, "not_our_file")
    assert empty.folder.read_text() == "a file"


def test_an_empty_file_becomes_a_new_store(empty: DataDirectory) -> None:
    empty.database.touch()

    empty.fill()

    empty.assert_whole()


def test_a_store_of_a_newer_program_is_refused_until_this_one_is_upgraded(directory: DataDirectory) -> None:
    with directory.foreign() as newer:
        known = newer.pragma("user_version")
        newer.cursor().execute("INSERT INTO migrations (id, checksum, position) VALUES ('turns/9999_later', '', 9999)")
        newer.pragma("user_version", 1)

    assert_refused(directory, "store_too_new")

    with directory.foreign() as newer:
        newer.cursor().execute("DELETE FROM migrations WHERE id = 'turns/9999_later'")
        newer.pragma("user_version", str(known))
    directory.assert_whole()


def test_a_migration_that_is_not_the_one_that_was_applied_is_refused(directory: DataDirectory) -> None:
    with directory.foreign() as other:
        other.cursor().execute("UPDATE migrations SET checksum = 'another' WHERE id = 'turns/0001_turns'")
        other.pragma("user_version", 1)

    assert_refused(directory, "store_damaged")


def test_an_event_that_was_edited_by_hand_is_found_and_not_folded_into_anything(directory: DataDirectory) -> None:
    with directory.foreign() as other:
        other.cursor().execute('UPDATE events SET body = \'{"words":"forged"}\' WHERE seq = 10')
        other.cursor().execute("UPDATE rooms SET title = 'forged'")

    verified, rebuilt, compared = (
        directory.tally("verify"),
        directory.tally("rebuild"),
        directory.tally("rebuild", "--dry-run"),
    )

    assert (verified.exit_code, verified.data["ok"]) == (4, False)
    assert rebuilt.is_refusal(4, "ledger_damaged")
    assert compared.is_refusal(4, "ledger_damaged")
    with directory.foreign() as other:
        assert other.cursor().execute("SELECT title FROM rooms").fetchall() == [("forged",)]
