"""What a view may ask: operations, all in one read transaction, so that everything on a page belongs together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

from tallystick.hub import engine
from tallystick.hub.hub import Hub
from tallystick.hub.tokens_reach import Visitor
from tallystick.kernel.clock import Instant
from tallystick.kernel.errors import NotFound
from tallystick.kernel.operation import Answer

Facts: TypeAlias = Mapping[str, Any]
"""An answer as it goes over the wire."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    visitor: Visitor
    now: Instant
    answer: Callable[[str, Mapping[str, object]], Answer]
    """What an operation answers in the page's transaction."""

    @property
    def me(self) -> str:
        return self.visitor.caller.agent_id

    def ask(self, operation: str, **given: object) -> Facts:
        """The answer of an operation that only looks; a wait looks once."""
        return self.answer(operation, given).to_data()

    def rows(self, operation: str, field: str, **given: object) -> Sequence[Facts]:
        return cast("Sequence[Facts]", self.ask(operation, **given)[field])

    def found(self, operation: str, **given: object) -> Facts | None:
        """The answer, or None when there is no such thing."""
        try:
            return self.ask(operation, **given)
        except NotFound:
            return None


def look(hub: Hub, visitor: Visitor, view: Callable[[Snapshot], T]) -> T:
    with hub.reading() as tx:
        return view(Snapshot(visitor, tx.now, lambda name, given: engine.within(tx, visitor, name, given)))
