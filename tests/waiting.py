"""Waiting for what another process does and nobody announces: look again until it is so, or until the deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psutil

T = TypeVar("T")

DEADLINE_S = 60.0
"""After which something that should happen at once counts as never happening."""


def eventually(look: Callable[[], T | None]) -> T:
    """What `look` finds, once it finds something."""
    limit = time.monotonic() + DEADLINE_S
    while (found := look()) is None:
        assert time.monotonic() < limit, "it never came"
        threading.Event().wait(0.01)
    return found


def until(condition: Callable[[], bool]) -> None:
    """Return once this is true."""
    eventually(lambda: condition() or None)


def gone(pid: int) -> bool:
    """Whether the process has ended, buried or not."""
    try:
        return psutil.Process(pid).status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return True
