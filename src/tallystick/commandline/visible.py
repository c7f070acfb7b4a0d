"""Text that somebody else wrote, made safe for a terminal: what does not print is shown instead of sent."""

from __future__ import annotations

import json


def visible(text: str) -> str:
    """One line: control characters, escapes, direction marks and line breaks appear as `\\x1b`, `\\u202e`, `\\n`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def visible_lines(text: str) -> list[str]:
    """The same for text that may have lines of its own; only a plain line feed makes one."""
    return [visible(line) for line in text.split("\n")]


def visible_json(value: object) -> str:
    """JSON on one line in which everything that does not print is escaped; it still reads back as the same value."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
