"""From untyped input to a typed one; every way in which that can fail is a refusal with a hint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

import msgspec
from msgspec import inspect

from tallystick.kernel.errors import InvalidField, InvalidInput, TooLarge, UnknownField, did_you_mean
from tallystick.kernel.operation import NO_NUL, Ask, as_ask

A = TypeVar("A", bound=Ask)

_SHOWN = 60
_PLACE = re.compile(r" - at (?:`key` in )?`\$([^`]*)`")
_STEP = re.compile(r"\.?([^.\[\]]+)")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
_LENGTH = re.compile(r"of length <= (\d+)")
_CHOICE = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)
_PATTERN = re.compile(r"Expected `str` matching regex (.*)", re.DOTALL)


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
