"""JSON values of which the shape is not known yet, narrowed to objects and lists.

The keys of a JSON object are always texts (as are those of a TOML table), which `isinstance(value, dict)` cannot say.
The hooks import this too, and have no time for `typing`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def object_of(value: object) -> dict[str, object]:
    """The object that it is; empty when it is anything else."""
    return value if is_object(value) else {}


def list_of(value: object) -> list[object]:
    """The list that it is; empty when it is anything else."""
    return value if is_list(value) else []


def objects_of(value: object) -> list[dict[str, object]]:
    """The objects of the list that it is, without what else stands there."""
    return [each for each in list_of(value) if is_object(each)]


def why_no_json(content: bytes | bytearray, wrong: Exception) -> str:
    """What is wrong with a text that was to be JSON; of half a surrogate pair msgspec says that the text ends early."""
    import json  # Here: only what is refused is read twice.

    if "truncated" in str(wrong):
        try:
            json.loads(content)
        except (ValueError, RecursionError):
            pass
        else:
            return "it holds one half of a surrogate pair, which is no character"
    return str(wrong)
