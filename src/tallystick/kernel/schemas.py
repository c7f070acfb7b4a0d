"""JSON Schemas of inputs and answers, from which surfaces derive options, tools, queries and the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, TypeAlias, TypeGuard, get_args, get_origin, get_type_hints

import msgspec

from tallystick.kernel.json_values import is_list, is_object
from tallystick.kernel.operation import NO_NUL, Custom

Schema: TypeAlias = dict[str, Any]


def several(kinds: Iterable[object], ref_template: str = "#/$defs/{name}") -> tuple[list[Schema], dict[str, Schema]]:
    """The JSON Schemas of several types, and the definitions that they share."""
    kinds = list(kinds)
    found, shared = msgspec.json.schema_components(kinds, schema_hook=_schema_of, ref_template=ref_template)
    orders = {frozenset(each): each for kind in kinds for each in _choices(kind, set())}
    return [_tidied(each, orders) for each in found], {name: _tidied(each, orders) for name, each in shared.items()}


def of(kind: object) -> Schema:
    """The JSON Schema of one struct; `$defs` has those that it refers to."""
    (found,), shared = several([kind])
    own = shared.pop(str(found["$ref"]).rpartition("/")[2])
    return {**own, "$defs": shared} if shared else own


def _schema_of(kind: type) -> Schema:
    if not issubclass(kind, Custom):
        raise NotImplementedError(f"{kind.__name__} has no JSON Schema")
    return kind.json_schema()


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


_Orders: TypeAlias = Mapping[frozenset[object], tuple[object, ...]]


def _tidied(node: Schema, orders: _Orders) -> Schema:
    """Choices in their order and as texts; without the rule about NUL, which no caller needs to read at every field."""
    tidy: Schema = {
        key: _tidied_value(value, orders) for key, value in node.items() if (key, value) != ("pattern", NO_NUL)
    }
    if "pattern" in tidy:
        tidy["pattern"] = str(tidy["pattern"]).replace(r"\Z", "$")  # As ECMAScript writes it.
    if "enum" in tidy:
        choices: list[object] = tidy["enum"]
        tidy["enum"] = list(orders.get(frozenset(choices), choices))
        if all(isinstance(each, str) for each in choices):
            tidy.setdefault("type", "string")
    return tidy


def _is_array(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


def _tidied_value(value: object, orders: _Orders) -> object:
    if _is_array(value):
        return [_tidied_value(each, orders) for each in value]
    return _tidied(value, orders) if is_object(value) else value


def written_out(kinds: Sequence[object]) -> Schema:
    """The schema of any of these structs, without references: for a type that has its JSON form by itself."""
    found, shared = several(kinds)
    each = [_resolved(node, shared) for node in found]
    return each[0] if len(each) == 1 else {"anyOf": each}


def _resolved(node: Schema, shared: Mapping[str, Schema]) -> Schema:
    if "$ref" in node:
        node = {**shared[str(node["$ref"]).rpartition("/")[2]], **node}
        del node["$ref"]
    return {key: _resolved_value(value, shared) for key, value in node.items()}


def _resolved_value(value: object, shared: Mapping[str, Schema]) -> object:
    if is_list(value):
        return [_resolved_value(each, shared) for each in value]
    return _resolved(value, shared) if is_object(value) else value
