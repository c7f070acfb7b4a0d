"""Query strings as typed input: the operation's own model says what is a number, a truth value or a list."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast
from urllib.parse import parse_qsl

import msgspec

from tallystick.kernel import schemas
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Ask

_TRUTH = {"true": True, "1": True, "false": False, "0": False}
MOST_PAIRS = 1000


def read(ask: type[Ask], query: bytes) -> dict[str, object]:
    """The input that a query string spells. Unknown names are left to the model, which suggests the right one."""
    kinds = kinds_of(ask)
    given: dict[str, object] = {}
    for name, text in pairs(query):
        kind = kinds.get(name, "string")
        if kind.startswith("array:"):
            cast("list[object]", given.setdefault(name, [])).append(_value(name, kind.removeprefix("array:"), text))
        elif name in given:
            raise InvalidField(f"{name} is given twice.", field=name)
        else:
            given[name] = _value(name, kind, text)
    return given


def pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PAIRS, encoding="utf-8"
        )
    except ValueError as wrong:  # UnicodeDecodeError is one
        raise InvalidField(f"The query cannot be read: {wrong}.") from wrong


@cache
def kinds_of(ask: type[Ask]) -> Mapping[str, str]:
    """Each field's JSON type; a list's as `array:` and the type of its items."""
    schema = schemas.of(ask)
    properties = cast("dict[str, dict[str, object]]", schema.get("properties", {}))
    return {name: _kind(each) for name, each in properties.items()}


def _kind(schema: Mapping[str, object]) -> str:
    for part in cast("list[dict[str, object]]", schema.get("anyOf", [])):
        if part.get("type") != "null":
            return _kind(part)
    kind = cast("str", schema.get("type", "string"))
    return f"array:{_kind(cast('dict[str, object]', schema['items']))}" if kind == "array" else kind


def _value(name: str, kind: str, text: str) -> object:
    match kind:
        case "integer":
            if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit() or len(text) > 20:
                raise InvalidField(f"{name}: '{text[:40]}' is not a whole number.", field=name)
            return int(text)
        case "boolean":
            if text.lower() not in _TRUTH:
                raise InvalidField(f"{name}: '{text[:40]}' is neither true nor false.", field=name)
            return _TRUTH[text.lower()]
        case "object" | "number":
            try:
                return cast("object", msgspec.json.decode(text))
            except msgspec.DecodeError as wrong:
                raise InvalidField(f"{name}: '{text[:40]}' is not JSON.", field=name) from wrong
        case _:
            return text
