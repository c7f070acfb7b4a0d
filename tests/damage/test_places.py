"""Data directories in a bad place: read-only, somebody else's, on a network, locked by others, or gone while in use."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.storage import sqlite
from tallystick.storage.sqlite import SqliteStore
from tallystick.storage.sqlite_file import Mount
from tests.damage.data_directory import ADA, DataDirectory, Said
from tests.damage.writer import locker
from tests.scene import refused

SOMEBODY_ELSE = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk or give a file away")


def assert_read_only(said: Said) -> None:
    assert said.is_refusal(4, "store_read_only"), said


@as_root
def test_a_store_on_a_read_only_disk_is_refused_and_whole_afterwards(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=True)
    try:
        directory = DataDirectory(disk / "data")
        directory.fill()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)

        with refused("store_read_only"):
            Hub.open(directory.settings)
        assert_read_only(directory.tally("rooms"))

        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        directory.assert_whole()
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@as_root
@pytest.mark.parametrize("command", [("rooms",), ("join", "/"), ("verify",)])
def test_a_data_directory_that_belongs_to_somebody_else_is_refused(
    directory: DataDirectory, command: tuple[str, ...]
) -> None:
    os.chown(directory.folder, SOMEBODY_ELSE, SOMEBODY_ELSE)
    directory.folder.chmod(0o755)

    said = directory.tally(*command)

    assert said.is_refusal(1, "foreign_data_dir"), said
    os.chown(directory.folder, 0, 0)
    directory.assert_whole()


@pytest.mark.parametrize("mode", [0o770, 0o702])
@pytest.mark.parametrize("command", [("rooms",), ("join", "/"), ("verify",)])
def test_a_data_directory_that_others_may_write_to_is_refused(
    directory: DataDirectory, mode: int, command: tuple[str, ...]
) -> None:
    directory.folder.chmod(mode)

    said = directory.tally(*command)

    assert said.is_refusal(1, "foreign_data_dir"), said
    directory.folder.chmod(0o700)
    directory.assert_whole()


@pytest.mark.parametrize("mode", [0o500, 0o400, 0o000])
@pytest.mark.parametrize("command", [("rooms",), ("join", "/")])
def test_a_data_directory_that_its_owner_may_not_change_is_refused(
    directory: DataDirectory, mode: int, command: tuple[str, ...]
) -> None:
    directory.folder.chmod(mode)

    assert_read_only(directory.tally(*command))

    directory.folder.chmod(0o700)
    directory.assert_whole()


@pytest.mark.parametrize("mode", [0o400, 0o000])
def test_a_database_that_may_not_be_written_is_refused(directory: DataDirectory, mode: int) -> None:
    directory.database.chmod(mode)

    assert_read_only(directory.tally("join", "/"))

    directory.database.chmod(0o600)
    directory.assert_whole()


@pytest.mark.parametrize(("mode", "verdict"), [(0o755, "warn"), (0o777, "bad")])
def test_a_data_directory_that_others_may_enter_is_named_by_the_doctor(
    directory: DataDirectory, mode: int, verdict: str
) -> None:
    directory.folder.chmod(mode)

    checks = cast("list[dict[str, str]]", directory.tally("doctor").data["checks"])

    (found,) = [check for check in checks if check["name"] == "data directory"]
    assert found["verdict"] == verdict
    assert ("chmod 700" if verdict == "bad" else "tally doctor --repair") in found["fix"]


def test_a_network_file_system_is_refused_before_anything_is_created(empty: DataDirectory) -> None:
    mounts = [Mount(point="/", kind="ext4"), Mount(point=str(empty.folder.parent), kind="nfs4")]
    with closing(SqliteStore(empty.database, mounts=lambda: mounts)) as store, refused("network_filesystem") as caught:
        store.migrate(registry.schema())

    assert "TALLYSTICK_ALLOW_NETWORK_FS=1" in caught.value.advice
    assert list(empty.folder.iterdir()) == []


def test_a_network_file_system_is_used_by_whoever_insists(directory: DataDirectory) -> None:
    mounts = [Mount(point="/", kind="nfs4")]
    store = SqliteStore(directory.database, mounts=lambda: mounts, allow_network_fs=True)
    with closing(Hub(store)) as hub:
        assert directory.read(hub) == directory.words


def test_a_database_that_another_program_keeps_locked_is_busy_and_then_works_again(directory: DataDirectory) -> None:
    with closing(Hub(SqliteStore(directory.database, busy_timeout_ms=150))) as hub:
        with locker(directory) as other:
            with refused("store_busy") as caught:
                directory.append(hub)
            assert directory.read(hub) == directory.words
        directory.append(hub)

    assert (caught.value.retryable, caught.value.details) == (True, {"holder_pid": other.pid})
    directory.assert_whole()


def test_a_database_that_another_program_has_for_itself_is_busy_and_then_works_again(directory: DataDirectory) -> None:
    impatient = SqliteStore(directory.database, busy_timeout_ms=150)
    with locker(directory, alone=True), closing(Hub(impatient)) as hub, refused("store_busy"):
        directory.read(hub)

    directory.assert_whole()


def test_a_data_directory_that_was_deleted_while_in_use_takes_no_more_writes(
    directory: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Deleting so small a store takes less than the millisecond for which the place counts as checked.
    monkeypatch.setattr(sqlite, "CHECK_SECONDS", 0)
    with directory.hub() as hub:
        directory.append(hub)
        shutil.rmtree(directory.folder)

        with refused("store_gone"):
            directory.append(hub)
        with refused("store_gone"):
            hub.call("rooms.list", {}, ADA)


def test_a_store_that_was_replaced_while_in_use_takes_no_more_writes_until_it_is_opened_anew(
    directory: DataDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Copying it takes less than that, too.
    monkeypatch.setattr(sqlite, "CHECK_SECONDS", 0)
    with directory.hub() as hub:
        hub.store.backup(tmp_path / "copy")
        for path in directory.folder.glob("tally.sqlite*"):
            path.unlink()
        (tmp_path / "copy").rename(directory.database)

        with refused("store_gone"):
            directory.append(hub)

    directory.assert_whole()


def test_a_store_that_was_moved_away_and_back_goes_on(directory: DataDirectory, tmp_path: Path) -> None:
    with directory.hub() as hub:
        directory.folder.rename(tmp_path / "away")
        with refused("store_gone"):
            directory.append(hub)
        (tmp_path / "away").rename(directory.folder)

        directory.append(hub)

        assert directory.read(hub) == directory.words
    directory.assert_whole()
