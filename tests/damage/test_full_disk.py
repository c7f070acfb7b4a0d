"""A disk that fills up: a clear refusal, everything acknowledged still there, and work again once there is space."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tallystick.hub.hub import Hub
from tests.damage.house import House
from tests.scene import refused

LARGE = '{"room_id": "%s", "kind": "x.house.word", "data": {"words": "' + "x" * 50_000 + '"}}'

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path]:
    """A disk of 8 MiB."""
    point = tmp_path / "disk"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", point], check=True)
    yield point
    subprocess.run(["umount", "--lazy", point], check=True)


def fill(disk: Path, *, leave: int = 0) -> Path:
    """Take all space but `leave` bytes."""
    ballast = disk / "ballast"
    about = os.statvfs(disk)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, about.f_bavail * about.f_frsize - leave)
    return ballast


def append_for_ever(house: House, hub: Hub) -> None:
    while True:
        house.append(hub, 10_000)


def test_an_append_to_a_full_disk_is_refused_and_succeeds_once_there_is_space(disk: Path) -> None:
    house = House(disk / "data")
    house.furnish()
    with house.hub() as hub:
        ballast = fill(disk, leave=200_000)
        with refused("disk_full") as full:
            append_for_ever(house, hub)
        said = house.tally("--as", "ada", "call", "events.append", "--input", LARGE % house.room_id)
        assert house.read(hub) == house.words

        ballast.unlink()

        house.append(hub, 10_000)
        assert (house.read(hub), house.flaws(hub)) == (house.words, [])
    assert (full.value.retryable, bool(full.value.advice)) == (True, True)
    assert said.is_refusal(3, "disk_full"), said
    house.assert_whole()


def test_a_log_that_cannot_be_settled_for_want_of_space_loses_nothing(disk: Path) -> None:
    house = House(disk / "data")
    house.furnish()
    with house.hub() as hub:
        while house.log.stat().st_size < 2_000_000:
            house.append(hub, 20_000)
        ballast = fill(disk)

    with house.hub() as hub:
        assert house.read(hub) == house.words

    ballast.unlink()
    house.assert_whole()


def test_a_store_cannot_be_made_on_a_full_disk_and_can_be_made_later(disk: Path) -> None:
    house = House(disk / "data")
    ballast = fill(disk)

    with refused("disk_full"):
        house.furnish()

    ballast.unlink()
    house.furnish()
    house.assert_whole()
