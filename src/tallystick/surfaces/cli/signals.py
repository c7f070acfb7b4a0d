"""Stopping a long wait between two looks at the store, never inside a transaction whose outcome would be lost."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

CAUGHT = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stop:
    """An `Interest` of the hub that gives up once a signal came. As a context it takes the place of the handlers."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._came = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Stop:
        self._before = {each: signal.signal(each, self._note) for each in CAUGHT}
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signal = self.signal or number
        self._came.set()

    def stopped(self) -> bool:
        return self._came.is_set()

    def waiting(self, elapsed: float, total: float) -> None:
        pass

    def pause(self, seconds: float) -> None:
        self._came.wait(seconds)
