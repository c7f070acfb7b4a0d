"""Stopping a long wait between two looks at the store, never inside a transaction whose outcome would be lost."""

from __future__ import annotations

import os
import select
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

CAUGHT = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stop:
    """Ends a wait once a signal came. As a context it takes the place of the handlers."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[signal.Signals, Any] = {}
        self._came, self._told = os.pipe()

    def __enter__(self) -> Stop:
        self._before = {each: signal.signal(each, self._note) for each in CAUGHT}
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)
        os.close(self._came)
        os.close(self._told)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.signal is None:
            self.signal = number
            os.write(self._told, b"!")

    def fileno(self) -> int:
        """Readable once a signal came: a handler alone would not end a system call that waits."""
        return self._came

    def stopped(self) -> bool:
        return self.signal is not None

    def waiting(self, elapsed: float, total: float) -> None:
        pass

    def pause(self, seconds: float) -> None:
        select.select([self._came], [], [], seconds)
