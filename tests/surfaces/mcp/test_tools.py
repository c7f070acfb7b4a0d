"""What a client is shown: three sets of tools, lean schemas, honest hints, and every operation within reach."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

import pytest
from jsonschema import Draft202012Validator, validate
from mcp_types import Tool

from tallystick.hub.registry import OPERATIONS
from tallystick.kernel import spellings
from tallystick.surfaces.mcp.tools import DESTRUCTIVE, NINE, NOT_REPEATABLE, PORTALS, PUT_OFF, ToolSet

TOKENS = 4_000
CHARACTERS_PER_TOKEN = 4


def wire(tool: Tool) -> dict[str, object]:
    return cast("dict[str, object]", tool.model_dump(by_alias=True, mode="json", exclude_none=True))


def schemas_in(node: object) -> Iterator[Mapping[str, object]]:
    """A schema and every schema inside it."""
    if isinstance(node, Mapping):
        schema = cast("Mapping[str, object]", node)
        yield schema
        for name, below in schema.items():
            inner = cast("Mapping[str, object]", below).values() if name == "properties" else [below]
            for each in inner:
                yield from schemas_in(each)


EVERY_TOOL = {tool.name: tool for tool in ToolSet.FULL.listed()}
every_tool = pytest.mark.parametrize("tool", EVERY_TOOL.values(), ids=EVERY_TOOL)


def test_the_core_set_is_talking_sticks_nine_tools() -> None:
    assert [tool.name for tool in ToolSet.CORE.listed()] == [
        "list_rooms",
        "join_path",
        "wait_for_turn",
        "heartbeat",
        "release_stick",
        "pass_stick",
        "takeover_stick",
        "get_room_state",
        "get_room_events",
    ]


def test_the_daily_set_adds_the_portals_that_have_operations() -> None:
    expected = [
        name for name, nouns in spellings.PORTALS.items() if any(each.noun in nouns for each in OPERATIONS.values())
    ]

    assert [tool.name for tool in ToolSet.DAILY.listed()] == [*NINE, *expected]


def test_the_full_set_adds_the_tools_that_were_put_off() -> None:
    assert [tool.name for tool in ToolSet.FULL.listed()] == [*NINE, *PUT_OFF, *PORTALS]


def test_every_operation_is_within_reach_of_the_default_tools() -> None:
    behind_portals = {name for portal in ToolSet.DAILY.portals.values() for name in portal.commands}

    assert set(OPERATIONS) - set(NINE.values()) - behind_portals == set()


def test_every_name_in_the_tables_is_an_operation() -> None:
    assert {*NINE.values(), *PUT_OFF.values(), *DESTRUCTIVE, *NOT_REPEATABLE} - set(OPERATIONS) == set()


def test_no_noun_is_behind_two_portals() -> None:
    nouns = [noun for each in spellings.PORTALS.values() for noun in each]

    assert len(nouns) == len(set(nouns))


def test_the_default_tools_fit_in_a_small_part_of_a_models_context() -> None:
    text = json.dumps([wire(tool) for tool in ToolSet.DAILY.listed()], separators=(",", ":"))

    assert len(text) / CHARACTERS_PER_TOKEN <= TOKENS


@every_tool
def test_an_input_schema_is_one_plain_object_that_every_provider_takes(tool: Tool) -> None:
    used = {key for schema in schemas_in(tool.input_schema) for key in schema}

    assert tool.input_schema["type"] == "object"
    assert used <= {
        "type", "description", "properties", "required", "items", "enum", "minItems", "maxItems", "maximum", "default"
    }  # fmt: skip
    Draft202012Validator.check_schema(tool.input_schema)


@every_tool
def test_every_property_has_a_single_type(tool: Tool) -> None:
    nested = [schema for schema in schemas_in(tool.input_schema) if schema is not tool.input_schema]

    assert [schema for schema in nested if not isinstance(schema.get("type"), str)] == []


def test_only_joining_lets_a_caller_name_itself() -> None:
    fields = {
        name: set(cast("dict[str, object]", tool.input_schema["properties"])) for name, tool in EVERY_TOOL.items()
    }

    assert [name for name, given in fields.items() if "agent_id_override" in given] == ["join_path"]
    assert [name for name, given in fields.items() if "agent_id" in given] == []


@pytest.mark.parametrize("tool", {**NINE, **PUT_OFF})
def test_the_examples_of_an_operation_satisfy_its_tools_schema(tool: str) -> None:
    operation = OPERATIONS[{**NINE, **PUT_OFF}[tool]]

    assert operation.examples
    for given in operation.examples:
        validate(dict(given), EVERY_TOOL[tool].input_schema)


def test_a_description_is_the_operations_own_text() -> None:
    assert {tool: EVERY_TOOL[tool].description for tool in NINE} == {
        tool: OPERATIONS[name].doc for tool, name in NINE.items()
    }


@pytest.mark.parametrize(
    ("tool", "hints"),
    [
        ("get_room_state", {"title": "Get room state", "readOnlyHint": True, "openWorldHint": False}),
        (
            "wait_for_turn",
            {"title": "Wait for turn", "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        ),
        (
            "takeover_stick",
            {"title": "Takeover stick", "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        ),
        (
            "close_room",
            {"title": "Close room", "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        ),
        ("append_note", {"title": "Append note", "destructiveHint": False, "openWorldHint": False}),
        ("rooms", {"title": "Rooms", "destructiveHint": True, "openWorldHint": False}),
    ],
)
def test_hints_say_what_a_tool_may_do(tool: str, hints: Mapping[str, object]) -> None:
    assert wire(EVERY_TOOL[tool])["annotations"] == hints
