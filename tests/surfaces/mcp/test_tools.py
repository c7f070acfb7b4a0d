"""What a client is shown: three sets of tools, lean schemas, honest hints, and every operation within reach."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

import pytest
from jsonschema import Draft202012Validator, validate
from mcp_types import Tool

from tallystick.hub.registry import OPERATIONS
from tallystick.kernel import hints
from tallystick.kernel.operation import Reach
from tallystick.surfaces.mcp.tools import DESTRUCTIVE, EVERYDAY, NINE, PORTALS, PUT_OFF, ToolSet

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
        name for name, nouns in hints.PORTALS.items() if any(each.noun in nouns for each in OPERATIONS.values())
    ]

    assert [tool.name for tool in ToolSet.DAILY.listed()] == [*NINE, *expected, hints.MANAGE]


def test_the_full_set_adds_the_tools_that_were_put_off() -> None:
    assert [tool.name for tool in ToolSet.FULL.listed()] == [*NINE, *PUT_OFF, *PORTALS]


def test_every_operation_is_within_reach_of_the_default_tools() -> None:
    behind_portals = {name for portal in ToolSet.DAILY.portals.values() for name in portal.commands}

    assert set(OPERATIONS) - set(NINE.values()) - behind_portals == set()


def test_every_name_in_the_tables_is_an_operation() -> None:
    assert {*NINE.values(), *PUT_OFF.values(), *DESTRUCTIVE} - set(OPERATIONS) == set()


def test_no_noun_is_behind_two_portals() -> None:
    nouns = [noun for each in hints.PORTALS.values() for noun in each]

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


def test_no_model_is_offered_to_name_itself() -> None:
    fields = {
        name: set(cast("dict[str, object]", tool.input_schema["properties"])) for name, tool in EVERY_TOOL.items()
    }

    assert [name for name, given in fields.items() if given & {"agent_id", "agent_id_override"}] == []


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
        ("get_room_state", {"readOnlyHint": True, "openWorldHint": False}),
        ("wait_for_turn", {"destructiveHint": False, "openWorldHint": False}),
        ("takeover_stick", {"destructiveHint": False, "openWorldHint": False}),
        ("close_room", {"destructiveHint": True, "openWorldHint": False}),
        ("rooms", {"destructiveHint": False, "openWorldHint": False}),
        ("manage", {"destructiveHint": True, "openWorldHint": False}),
    ],
)
def test_hints_say_what_a_tool_may_do(tool: str, hints: Mapping[str, object]) -> None:
    assert wire(EVERY_TOOL[tool])["annotations"] == hints


def test_of_the_daily_tools_only_manage_is_asked_about_and_nothing_else_is_behind_it() -> None:
    asked = [tool.name for tool in ToolSet.DAILY.listed() if _is_destructive(tool)]

    assert asked == [hints.MANAGE]
    assert set(PORTALS[hints.MANAGE].commands) == DESTRUCTIVE
    assert {OPERATIONS[name].reach for name in DESTRUCTIVE} == {Reach.MANAGE}


def _is_destructive(tool: Tool) -> bool:
    """As Codex decides whether to ask its user."""
    hints = tool.annotations
    return hints is None or (not hints.read_only_hint and (hints.destructive_hint is not False))


def test_a_harness_that_puts_tools_off_keeps_the_everyday_ones_and_finds_the_others() -> None:
    meta = {tool.name: wire(tool).get("_meta", {}) for tool in ToolSet.DAILY.listed()}

    assert {name for name, found in meta.items() if found == {"anthropic/alwaysLoad": True}} == EVERYDAY
    assert all("anthropic/searchHint" in cast("dict[str, object]", meta[name]) for name in PORTALS)


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("reserve file", "agents"),
        ("lock file", "agents"),
        ("send message to another agent", "messages"),
        ("read my mail", "messages"),
        ("read inbox unread mail", "messages"),
        ("hand over", "release_stick"),
        ("leave a note", "rooms"),
        ("close room", "manage"),
    ],
)
def test_a_search_by_words_finds_the_tool_for_it(query: str, tool: str) -> None:
    """Claude Code and Codex weigh differently, but both look for a query's words in names, descriptions and hints."""
    words = query.split()
    scores = {
        name: sum(word in re.findall(r"[a-z]+", json.dumps(wire(each)).lower()) for word in words)
        for name, each in EVERY_TOOL.items()
        if name not in PUT_OFF
    }

    assert scores[tool] == max(scores.values())
    assert scores[tool] >= min(2, len(words))
