"""JSON Schemas of inputs and answers, from which surfaces derive options, tools, queries and the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints

import msgspec

from tallystick.kernel.operation import NO_NUL, Custom

Schema: TypeAlias = dict[str, Any]


def several(kinds: Iterable[object], ref_template: str = "#/$defs/{name}") -> tuple[list[Schema], dict[str, Schema]]:
    """The JSON Schemas of several types, and the definitions that they share."""
    kinds = list(kinds)
    found, shared = msgspec.json.schema_components(kinds, schema_hook=_schema_of, ref_template=ref_template)
    orders = {frozenset(each): each for kind in kinds for each in _choices(kind, set())}
    return cast("list[Schema]", _tidied(found, orders)), cast("dict[str, Schema]", _tidied(shared, orders))


def of(kind: object) -> Schema:
    """The JSON Schema of one struct; `$defs` has those that it refers to."""
    (found,), shared = several([kind])
    own = shared.pop(str(found["$ref"]).rpartition("/")[2])
    return {**own, "$defs": shared} if shared else own


def _schema_of(kind: type) -> Schema:
    return cast("type[Custom]", kind).json_schema()


def _choices(kind: object, seen: set[object]) -> Iterator[tuple[object, ...]]:
    """The choices within a type as they were declared: LOW, MEDIUM, HIGH. msgspec sorts them by name."""
    if get_origin(kind) is Literal:
        yield get_args(kind)
        return
    if isinstance(kind, type) and kind not in seen:
        seen.add(kind)
        if issubclass(kind, Enum):
            yield tuple(member.value for member in kind)
        elif issubclass(kind, msgspec.Struct):
            for each in get_type_hints(kind, include_extras=True).values():
                yield from _choices(each, seen)
    for part in get_args(kind):
        yield from _choices(part, seen)


def _tidied(node: object, orders: Mapping[frozenset[object], tuple[object, ...]]) -> object:
    """Choices in their order and as texts; without the rule about NUL, which no caller needs to read at every field."""
    if isinstance(node, list | tuple):
        return [_tidied(value, orders) for value in cast("Iterable[object]", node)]
    if not isinstance(node, dict):
        return node
    whole = cast("Schema", node)
    tidy = {key: _tidied(value, orders) for key, value in whole.items() if (key, value) != ("pattern", NO_NUL)}
    if "pattern" in tidy:
        tidy["pattern"] = str(tidy["pattern"]).replace(r"\Z", "$")  # As ECMAScript writes it.
    if "enum" in tidy:
        choices = cast("list[object]", tidy["enum"])
        tidy["enum"] = list(orders.get(frozenset(choices), choices))
        if all(isinstance(each, str) for each in choices):
            tidy.setdefault("type", "string")
    return tidy


def written_out(kinds: Sequence[object]) -> Schema:
    """The schema of any of these structs, without references: for a type that has its JSON form by itself."""
    found, shared = several(kinds)
    each = [cast("Schema", _resolved(node, shared)) for node in found]
    return each[0] if len(each) == 1 else {"anyOf": each}


def _resolved(node: object, shared: dict[str, Schema]) -> object:
    if isinstance(node, list):
        return [_resolved(each, shared) for each in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    whole = cast("Schema", node)
    if "$ref" in whole:
        whole = {**shared[str(whole["$ref"]).rpartition("/")[2]], **whole}
        del whole["$ref"]
    return {key: _resolved(value, shared) for key, value in whole.items()}
