"""What must happen around a fork, for every pool and queue of this process.

Neither SQLite's connections nor a server's may be shared by two processes. A pool therefore stands still while its
process forks, and the child starts with an empty one.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forking(Protocol):
    def before_fork(self) -> None: ...

    def after_fork_in_parent(self) -> None: ...

    def after_fork_in_child(self) -> None: ...


_everyone: weakref.WeakSet[Forking] = weakref.WeakSet()
_stopped: list[Forking] = []


def attend(one: Forking) -> None:
    """Tell `one` about every fork for as long as it lives."""
    _everyone.add(one)


def _before() -> None:
    for one in list(_everyone):
        _stopped.append(one)
        one.before_fork()


def _in_parent() -> None:
    while _stopped:
        _stopped.pop().after_fork_in_parent()


def _in_child() -> None:
    while _stopped:
        _stopped.pop().after_fork_in_child()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
