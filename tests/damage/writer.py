"""A process of its own that writes to a house and then stands there until it is killed, its log behind it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import cast

from tests.damage.house import House

CONTEXT = multiprocessing.get_context("forkserver")


def write_and_stay(house: House, events: int, size: int, told: Connection) -> None:
    with house.hub() as hub:
        for _ in range(events):
            house.append(hub, size)
        told.send(house.words)
        told.recv()


@contextmanager
def writer(house: House, *, events: int, size: int = 0) -> Generator[ForkServerProcess]:
    """Another process that has written to this house and still has it open; it is killed at the end of the block."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=write_and_stay, args=(house, events, size, theirs))
    process.start()
    try:
        house.words = cast("list[str]", ours.recv())
        yield process
    finally:
        process.kill()
        process.join()


def lock_and_stay(house: House, told: Connection, *, alone: bool) -> None:
    with house.foreign() as connection:
        if alone:
            connection.pragma("locking_mode", "exclusive")
        connection.cursor().execute("BEGIN IMMEDIATE")
        told.send("locked")
        told.recv()


@contextmanager
def locker(house: House, *, alone: bool = False) -> Generator[ForkServerProcess]:
    """Another program with a write transaction open; `alone` does not even let others read."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=lock_and_stay, args=(house, theirs), kwargs={"alone": alone})
    process.start()
    try:
        ours.recv()
        yield process
    finally:
        process.kill()
        process.join()


def leave_a_log(house: House, *, events: int = 30, size: int = 0) -> None:
    """Let a process write and die without closing anything: what it wrote is in the log only."""
    with writer(house, events=events, size=size):
        pass
    assert house.log.stat().st_size > 0
