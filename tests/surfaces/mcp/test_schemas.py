"""Lean schemas: an input is one plain object without unions, an answer is its fields, one level deep."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from tallystick.kernel.operation import Answer, Ask, JsonObject, Moment
from tallystick.surfaces.mcp import tools
from tallystick.surfaces.mcp.tools import ToolSet


class Wood(StrEnum):
    HAZEL = "hazel"
    WILLOW = "willow"


class Notch(Ask):
    """One cut."""

    lines: Annotated[
        Annotated[list[int], Meta(min_length=2, max_length=2)] | None, Meta(description="First and last.")
    ] = None
    wood: Wood


class Cut(Ask):
    room_id: Annotated[str, Meta(max_length=200, description="Where.")]
    notch: Notch
    others: Annotated[list[Notch], Meta(max_length=50)] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    seq: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0


class Whole(Answer, tag_field="status", tag="whole"):
    wood: Wood | None
    at: Moment
    notches: list[Notch]


class Split(Answer, tag_field="status", tag="split"):
    wood: Wood
    at: Moment
    halves: tuple[str, int] | str
    data: JsonObject | None


def test_an_input_is_written_out_without_titles_lengths_and_nulls() -> None:
    notch = {
        "type": "object",
        "description": "One cut.",
        "properties": {
            "lines": {
                "type": "array",
                "description": "First and last.",
                "items": {"type": "integer"},
                "minItems": 2,
                "maxItems": 2,
            },
            "wood": {"type": "string", "enum": ["hazel", "willow"]},
        },
        "required": ["wood"],
    }

    assert tools.of_ask(Cut) == {
        "type": "object",
        "properties": {
            "room_id": {"type": "string", "description": "Where."},
            "notch": notch,
            "others": {"type": "array", "items": notch},
            "limit": {"type": "integer", "maximum": 500, "default": 100},
            "seq": {"type": "integer", "default": 0},
        },
        "required": ["room_id", "notch"],
    }


def test_an_answer_is_its_fields_and_their_types() -> None:
    assert tools.of_answer(Whole) == {
        "type": "object",
        "properties": {
            "status": {"enum": ["whole"]},
            "wood": {"enum": ["hazel", "willow", None]},
            "at": {"type": "string"},
            "notches": {"type": "array"},
        },
    }


def test_one_of_several_answers_is_one_object_that_each_satisfies() -> None:
    assert tools.of_answer(Whole | Split) == {
        "type": "object",
        "properties": {
            "status": {"enum": ["whole", "split"]},
            "wood": {"enum": ["hazel", "willow", None]},
            "at": {"type": "string"},
            "notches": {"type": "array"},
            "halves": {},
            "data": {},
        },
    }


def test_the_lines_of_a_handoffs_artifact_are_two_integers() -> None:
    tools = {tool.name: tool for tool in ToolSet.CORE.listed()}
    handoff = tools["release_stick"].input_schema["properties"]["handoff"]

    assert handoff["properties"]["artifacts"]["items"]["properties"]["lines"] == {
        "type": "array",
        "description": "First and last line.",
        "items": {"type": "integer"},
        "minItems": 2,
        "maxItems": 2,
    }
