"""Running the synchronous hub for an asynchronous server: bounded threads, and waits that end when their caller leaves.

Waits have threads of their own, so that a client may wait in many rooms and still be answered at once elsewhere.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

CALLS, WAITS = 8, 64
PROGRESS_EVERY_S = 5.0


class Attention:
    """One request's interest in what it asked for; the event loop ends it, the thread that works for it looks."""

    def __init__(self, tell: Callable[[float, float], Awaitable[None]] | None = None) -> None:
        self._tell = tell
        self._gone = threading.Event()
        self._started = time.monotonic()
        self._total: float | None = None

    def stopped(self) -> bool:
        return self._gone.is_set()

    def waiting(self, elapsed: float, total: float) -> None:  # noqa: ARG002 - the reporter has a clock of its own
        self._total = total

    def leave(self) -> None:
        self._gone.set()

    async def report(self) -> None:
        """Say now and then how long the wait has lasted, and of how much, once it has become one."""
        while self._tell:
            await asyncio.sleep(PROGRESS_EVERY_S)
            if self._total is not None:
                await self._tell(time.monotonic() - self._started, self._total)


class Workers:
    def __init__(self) -> None:
        self._calls = ThreadPoolExecutor(CALLS, "tally-call")
        self._waits = ThreadPoolExecutor(WAITS, "tally-wait")

    async def run(self, work: Callable[[], T], attention: Attention, *, waits: bool) -> T:
        """Do the work in a thread. When this task is cancelled, work not yet begun is dropped and a wait ends early."""
        pool = self._waits if waits else self._calls
        reporter = asyncio.create_task(attention.report()) if waits else None
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, work)
        finally:
            attention.leave()
            if reporter:
                reporter.cancel()

    def close(self) -> None:
        """Wait for the work in hand: a call that has begun is finished, and waits have been told to end."""
        for pool in (self._waits, self._calls):
            pool.shutdown(cancel_futures=True)


@contextmanager
def hired() -> Generator[Workers]:
    workers = Workers()
    try:
        yield workers
    finally:
        workers.close()
