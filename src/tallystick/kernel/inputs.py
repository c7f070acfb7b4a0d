"""Inputs seen from outside: their JSON Schemas, and the way from an untyped value to a typed one.

From the schemas, those of answers too, surfaces derive options, tools, queries and the reference. Every way in which a
value can be none is a refusal with a hint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, TypeAlias, TypeGuard, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect

from tallystick.kernel.errors import InvalidField, InvalidInput, TooLarge, UnknownField, did_you_mean
from tallystick.kernel.json_values import is_list, is_object
from tallystick.kernel.operation import NO_NUL, Ask, Custom, as_ask

Schema: TypeAlias = dict[str, Any]

A = TypeVar("A", bound=Ask)

_SHOWN = 60
_PLACE = re.compile(r" - at (?:`key` in )?`\$([^`]*)`")
_STEP = re.compile(r"\.?([^.\[\]]+)")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
_LENGTH = re.compile(r"of length <= (\d+)")
_CHOICE = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)
_PATTERN = re.compile(r"Expected `str` matching regex (.*)", re.DOTALL)


def schemas_of(kinds: Iterable[object], ref_template: str = "#/$defs/{name}") -> tuple[list[Schema], dict[str, Schema]]:
    """The JSON Schemas of several types, and the definitions that they share."""
    kinds = list(kinds)
    found, shared = msgspec.json.schema_components(kinds, schema_hook=_custom_schema, ref_template=ref_template)
    orders = {frozenset(each): each for kind in kinds for each in _enum_orders(kind, set())}
    return [_tidied(each, orders) for each in found], {name: _tidied(each, orders) for name, each in shared.items()}


def schema_of(kind: object) -> Schema:
    """The JSON Schema of one struct; `$defs` has those that it refers to."""
    (found,), shared = schemas_of([kind])
    own = shared.pop(str(found["$ref"]).rpartition("/")[2])
    return {**own, "$defs": shared} if shared else own


def _custom_schema(kind: type) -> Schema:
    if not issubclass(kind, Custom):
        raise NotImplementedError(f"{kind.__name__} has no JSON Schema")
    return kind.json_schema()


def _enum_orders(kind: object, seen: set[object]) -> Iterator[tuple[object, ...]]:
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
                yield from _enum_orders(each, seen)
    for part in get_args(kind):
        yield from _enum_orders(part, seen)


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
    found, shared = schemas_of(kinds)
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


def read(ask: type[A], given: Mapping[str, object]) -> A:
    try:
        return as_ask(ask, given)
    except msgspec.ValidationError as wrong:
        raise refusal(ask, wrong) from None


def refusal(ask: type[Ask], wrong: msgspec.ValidationError) -> InvalidInput:
    """The problem that msgspec found, as the refusal that names its field; an unknown field with the nearest name."""
    text = str(wrong)
    steps = [step for place in reversed(_PLACE.findall(text)) for step in _STEP.findall(place)]
    text = _PLACE.sub("", text)
    if found := _FIELD.fullmatch(text):
        kind, name = found.groups()
        if kind == "contains unknown":
            return _unknown(ask, steps, name)
        steps, text = [*steps, name], "Field required"
    path = ".".join(steps)
    if found := _LENGTH.search(text):
        return TooLarge(f"{path} is longer than {found[1]}.", field=path, limit=int(found[1]))
    text = _in_words(ask, steps, text)
    special: Mapping[str, type[InvalidInput]] = getattr(ask, "refusals", {})
    if steps and (particular := special.get(steps[0])):
        return particular(f"{path}: {text}.", field=path.partition(".")[2] or path)
    return InvalidField(f"{path}: {text}." if path else f"{text}.", field=path)


def _in_words(ask: type[Ask], steps: list[str], text: str) -> str:
    if found := _CHOICE.fullmatch(text):
        choices = " or ".join(f"'{each}'" for each in _choices(ask, steps))
        return f"{found[1][:_SHOWN]} is not {choices}" if choices else text
    if found := _PATTERN.fullmatch(text):
        return "A NUL character cannot be stored here" if found[1] == repr(NO_NUL) else f"Should match {found[1]}"
    return text


def _unknown(ask: type[Ask], steps: list[str], name: str) -> UnknownField:
    path = ".".join((*steps, name))[: _SHOWN * 4]
    names = sorted({field.name for found in _types_at(ask, steps) for field in _fields(found)})
    meant = did_you_mean(name, names, cutoff=0.5)
    return UnknownField(f"Unknown field '{path}'.{meant}", field=path, valid=names)


def _choices(ask: type[Ask], steps: list[str]) -> list[object]:
    """The valid values where a wrong one stood: of an enumeration, or of the field that tells structs apart."""
    found: list[object] = []
    for each in _types_at(ask, steps):
        if isinstance(each, inspect.LiteralType):
            found += each.values  # By name: msgspec keeps no other order.
        elif isinstance(each, inspect.EnumType):
            found += [member.value for member in each.cls]
    if not found and steps:
        parents = _types_at(ask, steps[:-1])
        found = [each.tag for each in parents if isinstance(each, inspect.StructType) and each.tag_field == steps[-1]]
    return found


def _types_at(ask: type[Ask], steps: list[str]) -> list[inspect.Type]:
    """The types that the value at a path may have."""
    found = list(_alternatives(inspect.type_info(ask)))
    for step in steps:
        found = [kind for each in found for inner in _below(each, step) for kind in _alternatives(inner)]
    return found


def _below(kind: inspect.Type, step: str) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.ListType):
        yield kind.item_type
    elif isinstance(kind, inspect.DictType):
        yield kind.value_type
    yield from (field.type for field in _fields(kind) if field.name == step)


def _fields(kind: inspect.Type) -> tuple[inspect.Field, ...]:
    return kind.fields if isinstance(kind, inspect.StructType) else ()


def _alternatives(kind: inspect.Type) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _alternatives(each)
    elif isinstance(kind, inspect.Metadata):
        yield from _alternatives(kind.type)
    else:
        yield kind
