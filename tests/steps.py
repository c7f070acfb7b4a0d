"""What a call does in its write transaction, for tests that put several into one or let one fail."""

from __future__ import annotations

from collections.abc import Callable

from tallystick.hub import engine
from tallystick.hub.engine import CallRequest, OutsideStep, WriteStep
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx


def written(operation: str, caller: Caller, key: str | None = None, **given: object) -> Callable[[Tx], object]:
    """The first write of such a call."""
    request = CallRequest(visitor=Visitor(caller=caller, trusted=True), operation=operation, given=given, key=key)
    steps = engine.call(request, lambda _operation, _outcome, _seconds: None)
    step = next(steps)
    if isinstance(step, OutsideStep):
        step = steps.send(step.run(lambda _look: None))
    assert isinstance(step, WriteStep)
    return step.run
