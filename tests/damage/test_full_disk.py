"""A disk that fills up: a clear refusal, everything acknowledged still there, and work again once there is space."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from tallystick.hub.hub import Hub
from tallystick.storage.errors import DiskFull
from tests.damage.data_directory import DataDirectory
from tests.http.running import Json, RunningHub
from tests.scene import refused

LARGE = '{"room_id": "%s", "kind": "x.directory.word", "data": {"words": "' + "x" * 50_000 + '"}}'

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


def append_for_ever(directory: DataDirectory, hub: Hub) -> None:
    while True:
        directory.append(hub, 10_000)


def test_an_append_to_a_full_disk_is_refused_and_succeeds_once_there_is_space(disk: Path) -> None:
    directory = DataDirectory(disk / "data")
    directory.fill()
    with directory.hub() as hub:
        ballast = fill(disk, leave=200_000)
        with refused("disk_full") as full:
            append_for_ever(directory, hub)
        said = directory.tally("--as", "ada", "call", "events.append", "--input", LARGE % directory.room_id)
        assert directory.read(hub) == directory.words

        ballast.unlink()

        directory.append(hub, 10_000)
        assert (directory.read(hub), directory.flaws(hub)) == (directory.words, [])
    assert (full.value.retryable, bool(full.value.advice)) == (True, True)
    assert said.is_refusal(3, "disk_full"), said
    directory.assert_whole()


def test_a_log_that_cannot_be_settled_for_want_of_space_loses_nothing(disk: Path) -> None:
    directory = DataDirectory(disk / "data")
    directory.fill()
    with directory.hub() as hub:
        while directory.log.stat().st_size < 2_000_000:
            directory.append(hub, 20_000)
        ballast = fill(disk)

    with directory.hub() as hub:
        assert directory.read(hub) == directory.words

    ballast.unlink()
    directory.assert_whole()


def test_a_store_cannot_be_made_on_a_full_disk_and_can_be_made_later(disk: Path) -> None:
    directory = DataDirectory(disk / "data")
    ballast = fill(disk)

    with refused("disk_full"):
        directory.fill()

    ballast.unlink()
    directory.fill()
    directory.assert_whole()


def test_a_hub_on_a_full_disk_reads_on_and_writes_again_once_there_is_space(disk: Path) -> None:
    hub = RunningHub(disk / "data", environ={"TALLYSTICK_HTTP_RATE": "0"}).start()
    try:
        room = hub.user.room()
        ballast = fill(disk, leave=100_000)
        acknowledged = appended(hub, room)
        # A line of log for each, and the file they belong to is on the same disk.
        read = [hub.user.get("/v1/rooms.list").status for _ in range(300)]
        doctor = hub.control("doctor", "--json", "--as", "ada")
        second = hub.control("status", "--json")

        ballast.unlink()

        again = hub.user.append(room, words="after")
        kept = hub.user.call("events.list", room_id=room, kinds=["x.test.event"], limit=1000)
        assert (hub.process.poll(), set(read)) == (None, {200})
        assert (doctor.returncode, '"name":"free space","found":"0 MiB' in doctor.stdout) == (1, True)
        assert json.loads(second.stdout)["data"]["answers"] is True
        assert [event["seq"] for event in cast("list[Json]", kept["events"])] == [*acknowledged, again]
    finally:
        hub.stop()


def appended(hub: RunningHub, room: str) -> list[int]:
    """The seqs of as many events as the disk takes."""
    found: list[int] = []
    while True:
        given = {"room_id": room, "kind": "x.test.event", "data": {"words": "x" * 10_000}}
        reply = hub.user.post("events.append", given)
        if reply.status != 200:
            assert reply.refused == (503, "disk_full")
            return found
        found.append(cast("int", cast("Json", reply.json["event"])["seq"]))


def test_a_hub_is_not_started_on_a_full_disk_and_says_what_to_do(disk: Path) -> None:
    ballast = fill(disk)
    hub = RunningHub(disk / "data")

    said = hub.control("--json", "up", "--port", "0")

    error = json.loads(said.stdout)["error"]
    assert (said.returncode, error["code"], error["hint"]) == (3, "disk_full", DiskFull.hint)
    ballast.unlink()
