"""What the body of an event may be: JSON that every reader gets back as it was sent, within bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tallystick.kernel import nesting
from tallystick.kernel.envelope import Body, may_be_deep, to_json, too_deep
from tallystick.kernel.errors import InvalidField, TooLarge
from tallystick.kernel.json_values import is_list, is_object
from tallystick.kernel.operation import Record

BODY_LIMIT = 256 * 1024
"""What a caller may put into a body of its own choice."""
EVENT_LIMIT = 4 * 1024 * 1024
"""What any event may hold; the largest is a job's artifact, bounded in characters by its own operation."""
DEPTH_LIMIT = nesting.DEPTH_LIMIT


def check(data: Mapping[str, object] | Body) -> str:
    """Refuse a body that is too deep, too large or not JSON; the result is its text."""
    text = to_json(data)
    check_text(text, limit=BODY_LIMIT)
    if "null" in text:  # A NaN is written as null.
        _refuse_nan(data)
    return text


def check_text(text: str, *, limit: int = EVENT_LIMIT) -> None:
    """Refuse a body that is out of bounds, whatever its kind."""
    if may_be_deep(text) and nesting.too_deep(text):
        raise too_deep()
    if len(text) > limit or (len(text) > limit // 4 and len(text.encode()) > limit):
        raise TooLarge(f"data is larger than {limit} bytes.", field="data", limit=limit)


def _refuse_nan(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidField("data has a number that JSON cannot write: NaN or Infinity.", field="data")
    for inner in _inside(value):
        _refuse_nan(inner)


def _inside(value: object) -> list[object]:
    if isinstance(value, Record):
        return [getattr(value, name) for name in value.__struct_fields__]
    if is_object(value):
        return list(value.values())
    return value if is_list(value) else []
