"""What a view may ask: operations, all in one read transaction, so that everything on a page belongs together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

from tallystick.hub import registry
from tallystick.hub.hub import Call, Found, Hub, granted
from tallystick.hub.tokens_reach import Visitor, permit
from tallystick.kernel.clock import Instant
from tallystick.kernel.errors import NotFound
from tallystick.kernel.operation import Pending

Facts: TypeAlias = Mapping[str, Any]
"""An answer as it goes over the wire."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    hub: Hub
    visitor: Visitor
    now: Instant
    run: Callable[[Call], Found]
    """Runs a call in the page's transaction."""

    @property
    def me(self) -> str:
        return self.visitor.caller.agent_id

    def ask(self, operation: str, **given: object) -> Facts:
        """The answer of an operation that only looks; a wait looks once."""
        permit(self.visitor, registry.find(operation), given)
        found = granted(self.run(self.hub.prepare(operation, given, self.visitor.caller)))
        answer = found.otherwise if isinstance(found, Pending) else found
        return answer.model_dump(mode="json")

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
        return view(Snapshot(hub, visitor, tx.now, lambda call: call.run(tx)))
