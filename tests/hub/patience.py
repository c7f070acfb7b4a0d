"""How a test takes part in a wait: it acts when the wait has found nothing, and leaves after a number of looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Patience:
    """Leaves after `looks` looks that found nothing; at the first of them it does `then`."""

    looks: int
    then: Callable[[], object] | None = None
    seen: int = 0

    def stopped(self) -> bool:
        return self.seen >= self.looks

    def waiting(self, elapsed: float, total: float) -> None:  # noqa: ARG002 - the shape of `Interest`
        self.seen += 1
        if self.seen == 1 and self.then:
            self.then()
