"""From untyped input to a typed one, for every operation: nothing coerced, nothing unknown, every bound named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tallystick.capabilities.turns.contract import Artifact, Handoff
from tallystick.hub import registry
from tallystick.kernel import inputs
from tallystick.kernel.errors import InvalidInput
from tallystick.kernel.operation import AnyOperation, Ask
from tests.scene import HANDOFF, Row, Scene, refused

OPERATIONS = sorted(registry.OPERATIONS.values(), key=lambda operation: operation.name)


def fields(operation: AnyOperation) -> Iterator[tuple[str, Row]]:
    """An operation's own fields, each with its JSON schema; of a union the part that is not null."""
    for name, schema in inputs.schema_of(operation.ask).get("properties", {}).items():
        parts = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
        yield name, {**schema, **parts[0]}


def wrong_values(schema: Row) -> Iterator[object]:
    """Values of a neighbouring type that a lenient reader would take."""
    match schema.get("type"):
        case "integer":
            yield from ("7", 7.0, True)
        case "boolean":
            yield from (1, 0, "true")
        case "string" if "enum" not in schema:
            yield from (7, True, ["text"], b"text")
        case "array":
            yield from ("text", {"0": "text"})
        case "object":
            yield from ("{}", [])
        case _:
            pass


def too_much(schema: Row) -> Iterator[tuple[int, object]]:
    """Each bound of a field, with a value just beyond it."""
    if "maximum" in schema:
        yield schema["maximum"], schema["maximum"] + 1
    if "minimum" in schema:
        yield schema["minimum"], schema["minimum"] - 1
    if schema.get("type") == "string" and "maxLength" in schema:
        yield schema["maxLength"], "1" * (schema["maxLength"] + 1)
    if schema.get("type") == "array" and "maxItems" in schema:
        yield schema["maxItems"], ["x"] * (schema["maxItems"] + 1)


def refusal(operation: AnyOperation, given: dict[str, object]) -> InvalidInput | None:
    try:
        inputs.read(operation.ask, given)
    except InvalidInput as refusal:
        return refusal
    return None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_has_examples_that_are_valid(operation: AnyOperation) -> None:
    assert operation.examples
    assert [refusal(operation, dict(example)) for example in operation.examples] == [None] * len(operation.examples)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_value_of_another_type_is_never_coerced(operation: AnyOperation) -> None:
    for name, schema in fields(operation):
        for value in wrong_values(schema):
            found = refusal(operation, {**operation.examples[0], name: value})
            assert found, f"{name}={value!r} was taken"
            assert str(found.details["field"]).startswith(name), f"{name}={value!r}: {found.message}"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_bound_is_named_in_its_refusal(operation: AnyOperation) -> None:
    for name, schema in fields(operation):
        for bound, value in too_much(schema):
            found = refusal(operation, {**operation.examples[0], name: value})
            assert found, f"{name} went beyond {bound}"
            assert str(bound) in found.message, f"{name}: {found.message}"
            assert found.details["field"] == name


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_field_that_holds_text_or_a_list_is_bounded(operation: AnyOperation) -> None:
    bounds = {"string": {"maxLength", "pattern", "enum"}, "array": {"maxItems"}}
    unbounded = [
        name
        for name, schema in fields(operation)
        if schema.get("type") in bounds and not bounds[schema["type"]] & schema.keys()
    ]
    assert unbounded == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_field_has_a_description(operation: AnyOperation) -> None:
    assert undescribed(operation.ask) == []


@pytest.mark.parametrize("model", [Handoff, Artifact])
def test_every_field_of_a_handoff_has_a_description(model: type[Ask]) -> None:
    assert undescribed(model) == []


def undescribed(model: type[Ask]) -> list[str]:
    return [name for name, field in inputs.schema_of(model).get("properties", {}).items() if "description" not in field]


@pytest.mark.parametrize(
    ("operation", "given", "path", "meant"),
    [
        ("turns.wait", {"room_id": "R", "max_wait": 5}, "max_wait", "max_wait_ms"),
        ("turns.wait", {"rom_id": "R"}, "rom_id", "room_id"),
        ("rooms.join", {"path": "/repo"}, "path", "context_path"),
        ("events.list", {"room_id": "R", "since": 3}, "since", "since_ts"),
    ],
)
def test_an_unknown_field_comes_with_the_nearest_valid_name(
    scene: Scene, operation: str, given: dict[str, object], path: str, meant: str
) -> None:
    with refused("unknown_field") as caught:
        scene.agent("ada").call(operation, **given)
    assert caught.value.message == f"Unknown field '{path}'. Did you mean '{meant}'?"
    assert caught.value.details == {"field": path, "valid": sorted(registry.find(operation).ask.__struct_fields__)}


def test_an_unknown_field_that_resembles_nothing_lists_what_is_valid(scene: Scene) -> None:
    with refused("unknown_field") as caught:
        scene.agent("ada").call("rooms.show", room_id="R", zzz=1)
    assert caught.value.message == "Unknown field 'zzz'."
    assert caught.value.details == {"field": "zzz", "valid": ["room_id"]}


@pytest.mark.parametrize(
    ("handoff", "path", "meant"),
    [
        ({**HANDOFF, "artefacts": []}, "handoff.artefacts", "artifacts"),
        ({"status": "done", "next": "go on"}, "handoff.next", "next_action"),
        (
            {**HANDOFF, "artifacts": [{"path": "a", "role": "edit"}, {"path": "b", "role": "edit", "line": [1, 2]}]},
            "handoff.artifacts.1.line",
            "lines",
        ),
    ],
)
def test_an_unknown_field_inside_comes_with_the_nearest_name_that_is_valid_there(
    scene: Scene, handoff: dict[str, object], path: str, meant: str
) -> None:
    given: dict[str, Any] = {"room_id": "R", "lease_id": "L", "expected_turn_id": 1, "handoff": handoff}
    with refused("unknown_field") as caught:
        scene.agent("ada").call("turns.release", **given)
    assert caught.value.message == f"Unknown field '{path}'. Did you mean '{meant}'?"


def test_a_missing_field_is_named(scene: Scene) -> None:
    with refused("invalid_input") as caught:
        scene.agent("ada").call("turns.heartbeat", room_id="R", expected_turn_id=1)
    assert (caught.value.message, caught.value.details) == ("lease_id: Field required.", {"field": "lease_id"})


@pytest.mark.parametrize("field", ["room_id", "lease_id", "expected_turn_id"])
@pytest.mark.parametrize("operation", ["turns.heartbeat", "turns.release", "turns.pass"])
def test_an_owners_action_needs_the_room_the_lease_and_the_turn(scene: Scene, operation: str, field: str) -> None:
    given = {name: value for name, value in registry.find(operation).examples[0].items() if name != field}
    with refused("invalid_input") as caught:
        scene.agent("ada").call(operation, **given)
    assert caught.value.details == {"field": field}


def test_nothing_but_a_join_lets_a_caller_name_itself() -> None:
    namers = [operation.name for operation in OPERATIONS if "agent_id_override" in operation.ask.__struct_fields__]
    assert namers == ["rooms.join"]


def test_no_operation_takes_a_topic() -> None:
    assert [operation.name for operation in OPERATIONS if "topic" in operation.ask.__struct_fields__] == []
