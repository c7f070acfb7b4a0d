"""Bus events in the runtime's own words."""

from __future__ import annotations

import pytest

from tallystick.runtime import rules
from tallystick.runtime.rules import ActionDelivery, AgentReplaced, DeliveredResult

MESSAGE = {
    "type": "message",
    "action_id": "a1",
    "kind": "user",
    "text": "count",
    "plan": {"steps": ["look"], "note": "twice"},
}


def submitted(action: object, **more: object) -> dict[str, object]:
    payload = {"group_id": "g", "context": {"context_id": "c1", "owner_id": "boss"}, "actions": [action], **more}
    return {"v": 1, "type": "action.submit", "src": "boss", "payload": payload}


def test_what_the_bus_brings_is_put_into_our_own_words() -> None:
    assert rules.delivery(submitted(MESSAGE, task_id="TASK-1")) == ActionDelivery(
        action_id="a1",
        src="boss",
        context_id="c1",
        task_id="TASK-1",
        text="count",
        kind="user",
        steps=("look",),
        note="twice",
    )
    review = {"type": "control", "action_id": "a2", "command": "review", "args": "the tests"}
    assert rules.delivery(submitted(review)) == ActionDelivery(
        action_id="a2", src="boss", context_id="c1", task_id="a2", text="the tests", command="review"
    )
    result = {"type": "action.result", "payload": {"action_id": "a3", "status": "completed"}}
    assert rules.delivery(result) == DeliveredResult(action_id="a3", status="completed")
    assert rules.delivery({"type": "agent.replaced", "payload": {"id": "worker"}}) == AgentReplaced(agent="worker")


@pytest.mark.parametrize(
    "envelope",
    [
        {},
        {"type": "events.record", "payload": {}},
        {"type": "error", "error": {"code": "hub_closed"}},
        {"type": "action.submit"},
        {"type": "action.submit", "payload": []},
        submitted("no action"),
        {"type": "action.submit", "payload": {"actions": []}},
    ],
)
def test_what_is_none_of_our_business_is_nothing(envelope: dict[str, object]) -> None:
    assert rules.delivery(envelope) is None
