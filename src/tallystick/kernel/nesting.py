"""How deep JSON text is nested, told from the text itself: depth is exactly what a decoder cannot survive."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

DEPTH_LIMIT = 64
"""So many levels an event's body may have."""

_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def too_deep(text: str) -> bool:
    return any(depth > DEPTH_LIMIT for _, depth in _brackets(text))


def trimmed(text: str) -> str:
    """The same JSON with what lies below the last level given as its text, so that every reader survives it."""
    parts: list[str] = []
    copied = began = 0
    for place, depth in _brackets(text):
        if depth != DEPTH_LIMIT + 1:
            continue
        if text[place] in "[{":
            began = place
        else:
            parts += [text[copied:began], msgspec.json.encode(text[began : place + 1]).decode()]
            copied = place + 1
    return "".join([*parts, text[copied:]])


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Every bracket outside a string: where it stands, and the level that it opens or closes."""
    depth = 0
    for found in _MARK.finditer(text):
        mark = found[0]
        if mark in "[{":
            depth += 1
            yield found.start(), depth
        elif mark in "]}":
            yield found.start(), depth
            depth -= 1
