"""What the body of an appended event may be: JSON that every reader gets back as it was sent, within bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tallystick.kernel.envelope import Body, to_json
from tallystick.kernel.errors import InvalidField, TooLarge
from tallystick.kernel.json_values import is_list, is_object
from tallystick.kernel.operation import Record

BODY_LIMIT = 256 * 1024
DEPTH_LIMIT = 64


def check(data: Mapping[str, object] | Body) -> str:
    """Refuse a body that is too deep, too large or not JSON; the result is its text."""
    try:
        text = to_json(data)
    except RecursionError:
        raise _too_deep() from None
    # The text tells when there is nothing to walk for: a NaN is written as null, and every level opens a bracket.
    if "null" in text or text.count("{") + text.count("[") > DEPTH_LIMIT:
        _walk(data)
    if len(text) > BODY_LIMIT or len(text.encode()) > BODY_LIMIT:
        raise TooLarge(f"data is larger than {BODY_LIMIT} bytes.", field="data", limit=BODY_LIMIT)
    return text


def _walk(data: Mapping[str, object] | Body) -> None:
    # By level, not by recursion: depth is exactly what a hostile body has too much of.
    level: list[object] = [data]
    depth = 1
    while level:
        if depth > DEPTH_LIMIT and any(isinstance(value, dict | list | Record) for value in level):
            raise _too_deep()
        level = [inner for value in level for inner in _inside(value)]
        depth += 1


def _too_deep() -> TooLarge:
    return TooLarge(f"data is nested deeper than {DEPTH_LIMIT} levels.", field="data", limit=DEPTH_LIMIT)


def _inside(value: object) -> list[object]:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidField("data has a number that JSON cannot write: NaN or Infinity.", field="data")
    if isinstance(value, Record):
        return [getattr(value, name) for name in value.__struct_fields__]
    if is_object(value):
        return list(value.values())
    return value if is_list(value) else []
