"""Every input that names an agent takes its id or its registered name, and says so when there is no such agent."""

from __future__ import annotations

import re

import pytest

from tallystick.hub import registry
from tallystick.kernel.caller import SessionKind
from tests.scene import HANDOFF, Actor, Scene, refused

NAMING = re.compile(r"agent_id|actor_id|to|by|assignee|sequence|session_id|to_agent_id|target_actor_id")
NOT_AGENTS = {("rooms.join", "agent_id_override")}
"""A name that the caller gives itself."""
OTHER_CODE = {("turns.pass", "to_agent_id"): "unknown_member"}
"""The specification of the stick has a code of its own."""

MORE: dict[str, dict[str, object]] = {
    "agents.allow_adoption": {"agent_id": "codex:9b22", "session_id": "ada"},
    "agents.update": {"role": "foreman"},
    "rooms.remove": {"reason": "gone"},
    "turns.pass": {"handoff": HANDOFF},
    "messages.send": {"text": "hello"},
    "messages.search": {"query": "hello"},
    "notifications.send": {"kind": "status_change", "title": "t", "message": "m"},
    "tasks.create": {"title": "t"},
    "tasks.update": {"task": "TASK-001"},
    "protocol.send": {
        "event_type": "HANDOFF",
        "subject": "s",
        "summary": "done",
        "next_action": "go on",
        "task_id": "TASK-001",
    },
    "actions.outcomes": {"group_id": "g1"},
}
"""What else an operation needs before it looks at the agent."""
IN_ANOTHER_ROOM = {"messages.relay"}
AUTHORS = {("events.list", "by")}
"""A filter over what was written, by whomever: an unknown author wrote nothing, as stores have always answered."""
LATER = {("messages.read", "actor_id"), ("messages.ack", "actor_id"), ("notifications.ack", "actor_id")}
"""These take only the caller itself, and name an event first."""


def fields() -> list[tuple[str, str]]:
    """Each operation with each of its fields that names an agent."""
    return [
        (operation.name, field)
        for operation in registry.OPERATIONS.values()
        for field in operation.ask.__struct_fields__
        if NAMING.fullmatch(field)
        if (operation.name, field) not in NOT_AGENTS | LATER | AUTHORS and operation.name not in IN_ANOTHER_ROOM
    ]


def test_the_fields_that_name_an_agent_are_known() -> None:
    assert len(fields()) >= 18


@pytest.mark.parametrize(("operation", "field"), fields())
def test_an_agent_that_is_not_there_is_never_an_empty_success(scene: Scene, operation: str, field: str) -> None:
    ada, _otter = scene.joined("ada", "codex:9b22")
    user = Actor(scene, ada.caller, ada.room_id)
    ada.here("tasks.create", title="one")
    turn = ada.claim()
    given = dict(MORE.get(operation, {}))
    wanted = registry.OPERATIONS[operation].ask
    if "lease_id" in wanted.__struct_fields__:
        given |= {"lease_id": turn.lease_id, "expected_turn_id": turn.turn_id}
    if operation in {"agents.allow_adoption", "rooms.remove"}:
        user = scene.agent("human:wren:pts1", session=SessionKind.HUMAN_CLI)
        user.room_id = ada.room_id
    listed = field in {"to", "sequence"} and operation != "protocol.send"
    given[field] = ["no-such-agent"] if listed else "no-such-agent"
    with refused(OTHER_CODE.get((operation, field), "agent_not_found")):
        user.here(operation, **given)


READS = [
    ("agents.show", "agent_id"),
    ("reservations.status", "agent_id"),
    ("messages.inbox", "actor_id"),
    ("tasks.list", "assignee"),
    ("actions.pending", "agent_id"),
    ("protocol.list", "agent_id"),
    ("events.list", "by"),
]


@pytest.mark.parametrize(("operation", "field"), READS)
def test_a_name_and_an_id_give_the_same_answer(scene: Scene, operation: str, field: str) -> None:
    ada, codex = scene.joined("ada", "codex:9b22")
    codex.here("agents.register", name="amber-otter")
    codex.here("reservations.reserve", path="src")
    ada.here("tasks.create", title="one", assignee="amber-otter", status="running")
    ada.here("messages.send", text="hello", to=["amber-otter"])
    ada.here("notifications.send", **MORE["notifications.send"], target_actor_id="amber-otter")
    by_id, by_name = (ada.here(operation, **{field: who}) for who in ("codex:9b22", "amber-otter"))
    assert by_name == by_id
    assert ada.here("tasks.show", task="TASK-001")["assignee"] == "codex:9b22"


def test_the_stick_is_passed_to_a_name(scene: Scene) -> None:
    ada, codex = scene.joined("ada", "codex:9b22")
    codex.here("agents.register", name="amber-otter")
    assert ada.pass_to(ada.claim(), "amber-otter")["reserved_for"] == "codex:9b22"
