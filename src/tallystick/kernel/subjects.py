"""What an event is about: the tasks it names, wherever its kind keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

TASK_LIMIT = 200
"""Longer text is no name of a task."""
_FIELDS = ("task_id", "task", "bead_id")


def tasks_of(data: Mapping[str, object]) -> list[str]:
    """Every task that an event names, its own first."""
    return list(dict.fromkeys(name for name in _named(data) if isinstance(name, str) and _is_name(name)))


def _named(data: Mapping[str, object]) -> Iterator[object]:
    yield from (data.get(name) for name in _FIELDS)
    refs = data.get("refs")
    for ref in cast("list[object]", refs) if isinstance(refs, list) else ():
        if isinstance(ref, dict) and cast("dict[str, object]", ref).get("kind") == "task_ref":
            yield cast("dict[str, object]", ref).get("task_id")


def _is_name(text: str) -> bool:
    return 0 < len(text) <= TASK_LIMIT and "\0" not in text
