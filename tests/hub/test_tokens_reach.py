"""How far a token for one room reaches: into no other room, through whichever field an input names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

import pytest

from tallystick.hub import registry
from tallystick.hub.visitor import Visitor, permit
from tallystick.kernel import inputs
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.operation import AnyOperation, Reach
from tests.scene import refused

OPERATIONS = sorted(registry.OPERATIONS.values(), key=lambda operation: operation.name)
VISITOR = Visitor(caller=Caller(agent_id="ada", session=SessionKind.NAMED), room_id="mine", reach=Reach.MANAGE)

NAMES_NO_ROOM = frozenset(
    {
        # A group of actions.
        "actions.outcomes group_id",
        "actions.outcomes agent_id",
        "actions.result group_id",
        "actions.submit group_id",
        "actions.submit action_index",
        # A path on the hub's machine; refused for every token that is for one room.
        "agents.adopt context_path",
        "agents.candidates context_path",
        "rooms.create context_path",
        "rooms.list context_path",
        # Paths within the room of the call.
        "permissions.set_policy allow_paths",
        "reservations.attempt paths",
        # Instead of a room_id, without which such a token is refused.
        "reservations.check path",
        # About the room that room_id names.
        "actions.submit action_id",
        "anchors.create paths",
        "events.verify expect",
        "jobs.complete elsewhere",
        "jobs.complete path",
        "anchors.update paths",
        "messages.relay record",
        "messages.send attachments",
        "messages.send refs",
        "messages.send src_event_id",
        "reservations.check paths",
        "reservations.reserve path",
        "rooms.close expected_turn_id",
        "rooms.create title",
        "rooms.join force_new",
        "tasks.create paths",
        "tasks.macro.delegate paths",
        "tasks.update paths",
        "turns.pass to_agent_id",
    }
)
"""Fields that mention a room, or a group, and name none."""


def fields(schema: inputs.Schema, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every field of an input with all that is said of it, those of the records within it too."""
    shared = cast("dict[str, inputs.Schema]", schema.get("$defs", {}))
    for name, each in cast("dict[str, inputs.Schema]", schema.get("properties", {})).items():
        yield name, str(each)
        for inner in re.findall(r"#/\$defs/(\w+)", str(each)):
            if inner not in seen:
                yield from fields({**shared[inner], "$defs": shared}, (*seen, inner))


def mentions_a_room(name: str, text: str) -> bool:
    return re.search(r"room|group", f"{name} {text}", re.IGNORECASE) is not None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_input_declares_every_field_that_names_a_room(operation: AnyOperation) -> None:
    mentioned = {name for name, text in fields(inputs.schema_of(operation.ask)) if mentions_a_room(name, text)}
    own = set(operation.ask.__struct_fields__)
    unknown = {name for name in mentioned if f"{operation.name} {name}" not in NAMES_NO_ROOM}
    assert unknown == own & set(operation.ask.rooms)


def test_what_is_declared_as_a_room_is_a_field_of_the_input() -> None:
    declared = [(each.name, field) for each in OPERATIONS for field in each.ask.rooms if field != "room_id"]
    assert declared == [
        ("messages.relay", "src_group_id"),
        ("messages.send", "src_group_id"),
        ("messages.send", "dst_group_id"),
    ]
    assert all(field in registry.find(name).ask.__struct_fields__ for name, field in declared)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_token_for_one_room_reaches_no_other_through_any_field(operation: AnyOperation) -> None:
    if operation.noun == "hub":
        permit(VISITOR, operation, {})
        return
    permit(VISITOR, operation, dict.fromkeys(("room_id", *operation.ask.rooms), "mine"))
    for field in ("room_id", *operation.ask.rooms):
        with refused("other_room"):
            permit(VISITOR, operation, {"room_id": "mine", field: "other"})
