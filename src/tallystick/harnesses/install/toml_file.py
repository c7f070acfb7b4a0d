"""One table of a TOML file, added at its end and taken away again; every other byte stays."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence

from tallystick.harnesses.errors import ConfigUnreadable
from tallystick.kernel.json_values import is_object

_HEADER = re.compile(r"^[ \t]*\[+([^\]\n]*)\]+[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_toml(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as wrong:
        raise ConfigUnreadable(f"It is not valid TOML: {wrong}.") from None


def added(text: str, path: tuple[str, ...], table: Mapping[str, str | Sequence[str] | bool]) -> tuple[str, str]:
    """The text with this table at its end, and the piece that was inserted."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [
        f"[{'.'.join(_key(each) for each in path)}]",
        *(f"{key} = {_value(value)}" for key, value in table.items()),
    ]
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    piece = gap + newline.join(lines) + newline
    try:
        read_toml(text + piece)
    except ConfigUnreadable:
        # An inline table is closed for good: what belongs in it has to be written inside its braces.
        whole = ".".join(path)
        raise ConfigUnreadable(
            f"[{whole}] cannot be added, because '{path[0]}' is written as an inline table.",
            hint=f"Write it as [{path[0]}.NAME] tables, then run the command again.",
        ) from None
    return text + piece, piece


def removed(text: str, path: tuple[str, ...]) -> str:
    """The text without this table and the tables below it."""
    expected = _without(read_toml(text), path)
    starts = [(found.start(), _names(found[1])[: len(path)] == path) for found in _HEADER.finditer(text)]
    ends = [*(start for start, _ in starts[1:]), len(text)]
    spans = [(start, end) for (start, ours), end in zip(starts, ends, strict=True) if ours]
    # A line in a long string may look like our header. The last one is tried first, since we write at the end.
    for first in reversed(range(len(spans))):
        left = text
        for start, end in reversed(spans[first:]):
            left = left[:start] + left[end:]
        try:
            if read_toml(left) == expected:
                return left
        except ConfigUnreadable:
            continue
    raise ConfigUnreadable(f"[{'.'.join(path)}] cannot be taken out by itself; take it out by hand.")


def _without(values: dict[str, object], path: tuple[str, ...]) -> dict[str, object]:
    key, rest = path[0], path[1:]
    inner = values.get(key)
    if not rest or not is_object(inner):
        return {name: value for name, value in values.items() if name != key}
    left = _without(inner, rest)
    # Its own header brought the outer table into being, and takes it along.
    return {name: (left if name == key else value) for name, value in values.items() if name != key or left}


def _names(header: str) -> tuple[str, ...]:
    try:
        names = tomllib.loads(f"{header} = 1")
    except tomllib.TOMLDecodeError:
        return ()
    found = list[str]()
    inner: object = names
    while is_object(inner):
        ((name, inner),) = inner.items()
        found.append(name)
    return tuple(found)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _value(value: str | Sequence[str] | bool) -> str:
    """A text, a list of texts or a truth; JSON writes them as TOML does."""
    return json.dumps(value, ensure_ascii=False)
