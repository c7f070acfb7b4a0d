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
from tests.damage.house import ADA, House, Said
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
        house = House(disk / "data")
        house.furnish()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)

        with refused("store_read_only"):
            Hub.open(house.settings)
        assert_read_only(house.tally("rooms"))

        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        house.assert_whole()
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@as_root
@pytest.mark.parametrize("command", [("rooms",), ("join", "/"), ("verify",)])
def test_a_data_directory_that_belongs_to_somebody_else_is_refused(house: House, command: tuple[str, ...]) -> None:
    os.chown(house.folder, SOMEBODY_ELSE, SOMEBODY_ELSE)
    house.folder.chmod(0o755)

    said = house.tally(*command)

    assert said.is_refusal(1, "foreign_data_dir"), said
    os.chown(house.folder, 0, 0)
    house.assert_whole()


@pytest.mark.parametrize("mode", [0o770, 0o702])
@pytest.mark.parametrize("command", [("rooms",), ("join", "/"), ("verify",)])
def test_a_data_directory_that_others_may_write_to_is_refused(
    house: House, mode: int, command: tuple[str, ...]
) -> None:
    house.folder.chmod(mode)

    said = house.tally(*command)

    assert said.is_refusal(1, "foreign_data_dir"), said
    house.folder.chmod(0o700)
    house.assert_whole()


@pytest.mark.parametrize("mode", [0o500, 0o400, 0o000])
@pytest.mark.parametrize("command", [("rooms",), ("join", "/")])
def test_a_data_directory_that_its_owner_may_not_change_is_refused(
    house: House, mode: int, command: tuple[str, ...]
) -> None:
    house.folder.chmod(mode)

    assert_read_only(house.tally(*command))

    house.folder.chmod(0o700)
    house.assert_whole()


@pytest.mark.parametrize("mode", [0o400, 0o000])
def test_a_database_that_may_not_be_written_is_refused(house: House, mode: int) -> None:
    house.database.chmod(mode)

    assert_read_only(house.tally("join", "/"))

    house.database.chmod(0o600)
    house.assert_whole()


@pytest.mark.parametrize(("mode", "verdict"), [(0o755, "warn"), (0o777, "bad")])
def test_a_data_directory_that_others_may_enter_is_named_by_the_doctor(house: House, mode: int, verdict: str) -> None:
    house.folder.chmod(mode)

    checks = cast("list[dict[str, str]]", house.tally("doctor").data["checks"])

    (found,) = [check for check in checks if check["name"] == "data directory"]
    assert (found["verdict"], "chmod 700" in found["fix"]) == (verdict, True)


def test_a_network_file_system_is_refused_before_anything_is_created(empty: House) -> None:
    mounts = [Mount(point="/", kind="ext4"), Mount(point=str(empty.folder.parent), kind="nfs4")]
    with closing(SqliteStore(empty.database, mounts=lambda: mounts)) as store, refused("network_filesystem") as caught:
        store.migrate(registry.schema())

    assert "TALLYSTICK_ALLOW_NETWORK_FS=1" in caught.value.advice
    assert list(empty.folder.iterdir()) == []


def test_a_network_file_system_is_used_by_whoever_insists(house: House) -> None:
    mounts = [Mount(point="/", kind="nfs4")]
    store = SqliteStore(house.database, mounts=lambda: mounts, allow_network_fs=True)
    with closing(Hub(store)) as hub:
        assert house.read(hub) == house.words


def test_a_database_that_another_program_keeps_locked_is_busy_and_then_works_again(house: House) -> None:
    with closing(Hub(SqliteStore(house.database, busy_timeout_ms=150))) as hub:
        with locker(house) as other:
            with refused("store_busy") as caught:
                house.append(hub)
            assert house.read(hub) == house.words
        house.append(hub)

    assert (caught.value.retryable, caught.value.details) == (True, {"holder_pid": other.pid})
    house.assert_whole()


def test_a_database_that_another_program_has_for_itself_is_busy_and_then_works_again(house: House) -> None:
    impatient = SqliteStore(house.database, busy_timeout_ms=150)
    with locker(house, alone=True), closing(Hub(impatient)) as hub, refused("store_busy"):
        house.read(hub)

    house.assert_whole()


def test_a_data_directory_that_was_deleted_while_in_use_takes_no_more_writes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Deleting so small a store takes less than the millisecond for which the place counts as checked.
    monkeypatch.setattr(sqlite, "CHECK_SECONDS", 0)
    with house.hub() as hub:
        house.append(hub)
        shutil.rmtree(house.folder)

        with refused("store_gone"):
            house.append(hub)
        with refused("store_gone"):
            hub.call("rooms.list", {}, ADA)


def test_a_store_that_was_replaced_while_in_use_takes_no_more_writes_until_it_is_opened_anew(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Copying it takes less than that, too.
    monkeypatch.setattr(sqlite, "CHECK_SECONDS", 0)
    with house.hub() as hub:
        hub.store.backup(tmp_path / "copy")
        for path in house.folder.glob("tally.sqlite*"):
            path.unlink()
        (tmp_path / "copy").rename(house.database)

        with refused("store_gone"):
            house.append(hub)

    house.assert_whole()


def test_a_store_that_was_moved_away_and_back_goes_on(house: House, tmp_path: Path) -> None:
    with house.hub() as hub:
        house.folder.rename(tmp_path / "away")
        with refused("store_gone"):
            house.append(hub)
        (tmp_path / "away").rename(house.folder)

        house.append(hub)

        assert house.read(hub) == house.words
    house.assert_whole()
