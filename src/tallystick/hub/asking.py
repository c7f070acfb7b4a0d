"""From untyped input to an operation's typed one; every way in which that can fail is a refusal with a hint."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from tallystick.kernel.errors import InvalidField, InvalidInput, TooLarge, UnknownField
from tallystick.kernel.operation import Ask, Operation

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

A = TypeVar("A", bound=Ask)
_TOO_LONG = {"string_too_long", "too_long", "bytes_too_long"}


def build(operation: Operation, given: Mapping[str, object]) -> Ask:
    return read(operation.ask, given)


def read(ask: type[A], given: Mapping[str, object]) -> A:
    try:
        return ask.model_validate(given)
    except ValidationError as wrong:
        raise refusal(ask, wrong) from None


def refusal(ask: type[Ask], wrong: ValidationError) -> InvalidInput:
    """The first problem, as the refusal that names its field; an unknown field comes with the nearest valid name."""
    problems = wrong.errors(include_url=False)
    # A misspelt field is also a missing one; its nearest name says more.
    first = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
    path = ".".join(str(step) for step in first["loc"])
    if first["type"] == "extra_forbidden":
        return _unknown(ask, first, path)
    if first["type"] in _TOO_LONG:
        limit = int(first.get("ctx", {}).get("max_length", 0))
        return TooLarge(f"{path} is longer than {limit}.", field=path, limit=limit)
    text = f"{path}: {first['msg']}." if path else f"{first['msg']}."
    special: Mapping[str, type[InvalidInput]] = getattr(ask, "refusals", {})
    if first["loc"] and (kind := special.get(str(first["loc"][0]))):
        return kind(text, field=path.partition(".")[2] or path)
    return InvalidField(text, field=path)


def _unknown(ask: type[Ask], first: ErrorDetails, path: str) -> UnknownField:
    names = _names_at(ask, first["loc"][:-1])
    near = difflib.get_close_matches(str(first["loc"][-1]), names, n=1, cutoff=0.5)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    return UnknownField(f"Unknown field '{path}'.{meant}", field=path, valid=sorted(names))


def _names_at(ask: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """The field names that are valid where the unknown one stood."""
    for step in path:
        if isinstance(step, str) and step in ask.model_fields:
            ask = _model_in(ask.model_fields[step].annotation) or ask
    return list(ask.model_fields)


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)
