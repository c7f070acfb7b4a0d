"""A process of its own that writes to a directory and then stands there until it is killed, its log behind it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import cast

from tests.damage.data_directory import DataDirectory

CONTEXT = multiprocessing.get_context("forkserver")


def write_and_stay(directory: DataDirectory, events: int, size: int, told: Connection) -> None:
    with directory.hub() as hub:
        for _ in range(events):
            directory.append(hub, size)
        told.send(directory.words)
        told.recv()


@contextmanager
def writer(directory: DataDirectory, *, events: int, size: int = 0) -> Generator[ForkServerProcess]:
    """Another process that wrote to this directory and has it open still; it is killed at the end of the block."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=write_and_stay, args=(directory, events, size, theirs))
    process.start()
    try:
        directory.words = cast("list[str]", ours.recv())
        yield process
    finally:
        process.kill()
        process.join()


def lock_and_stay(directory: DataDirectory, told: Connection, *, alone: bool) -> None:
    with directory.foreign() as connection:
        if alone:
            connection.pragma("locking_mode", "exclusive")
        connection.cursor().execute("BEGIN IMMEDIATE")
        told.send("locked")
        told.recv()


@contextmanager
def locker(directory: DataDirectory, *, alone: bool = False) -> Generator[ForkServerProcess]:
    """Another program with a write transaction open; `alone` does not even let others read."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=lock_and_stay, args=(directory, theirs), kwargs={"alone": alone})
    process.start()
    try:
        ours.recv()
        yield process
    finally:
        process.kill()
        process.join()


def leave_a_log(directory: DataDirectory, *, events: int = 30, size: int = 0) -> None:
    """Let a process write and die without closing anything: what it wrote is in the log only."""
    with writer(directory, events=events, size=size):
        pass
    assert directory.log.stat().st_size > 0
