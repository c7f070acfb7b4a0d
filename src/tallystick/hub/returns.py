"""From the committing thread back to those who await a write in the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class CallerLeft(Exception):
    """Whoever asked for this write is gone, so it is not done."""


class Returns:
    """Outcomes on their way from the committing thread to the event loop; a whole group costs one wake."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: deque[Callable[[], None]] = deque()
        self._called = False

    def put(self, tell: Callable[[], None]) -> None:
        self._ready.append(tell)
        if not self._called:
            self._called = True
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # First the flag, then the queue: what is put in between calls again.
        self._called = False
        while self._ready:
            self._ready.popleft()()


class Return(Generic[T]):
    """The outcome of one write, for the task that awaits it."""

    __slots__ = ("_returns", "waiter")

    def __init__(self, returns: Returns, waiter: asyncio.Future[T]) -> None:
        self._returns, self.waiter = returns, waiter

    def set_result(self, result: T, /) -> None:
        self._returns.put(lambda: None if self.waiter.cancelled() else self.waiter.set_result(result))

    def set_exception(self, exception: BaseException, /) -> None:
        self._returns.put(lambda: None if self.waiter.cancelled() else self.waiter.set_exception(exception))
