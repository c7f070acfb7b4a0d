"""What changes the answer of a wait and wakes nobody, a deadline or the end of a process: checked without the store.

All waits of an event loop that depend on the same thing share one timer, which checks it for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from tallystick.kernel.caller import ProcessState
from tallystick.kernel.operation import Unannounced
from tallystick.ledger.tx import World

if TYPE_CHECKING:
    import asyncio


Ring: TypeAlias = Callable[[], None]


class WaitConditions:
    """Rings for those who wait for the same thing once it has come. Everything here belongs to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, world: World) -> None:
        self._loop, self._world = loop, world
        self._waiting: dict[Unannounced, set[Ring]] = {}

    @contextmanager
    def sharing(self, what: Unannounced, ring: Ring) -> Generator[None]:
        """Ring when it has come, as long as this lasts."""
        if what.moment is None and what.process_ends is None:
            yield
            return
        if what not in self._waiting:
            self._waiting[what] = set()
            self._again(what)
        waiting = self._waiting[what]
        waiting.add(ring)
        try:
            yield
        finally:
            waiting.discard(ring)

    def _again(self, what: Unannounced) -> None:
        self._loop.call_later(what.every_ms / 1000, self._check, what)

    def _check(self, what: Unannounced) -> None:
        waiting = self._waiting[what]
        if waiting and not self._has_come(what):
            self._again(what)
            return
        del self._waiting[what]
        for ring in waiting:
            ring()

    def _has_come(self, what: Unannounced) -> bool:
        if what.moment is not None and self._world.clock() >= what.moment:
            return True
        return what.process_ends is not None and self._world.process_state(what.process_ends) is ProcessState.GONE
