"""Small changes to a JSON or TOML file that keep every other byte: comments, odd spacing, line ends and all.

A JSON file is read into nodes that know where they stand in the text. To add something is one insertion; to take it
away again without knowing that insertion, only the member and its comma go. Of a TOML file it is one table, added at
its end and taken away again.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tallystick.harnesses.errors import ConfigUnreadable
from tallystick.kernel.json_values import is_object

_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')
_INDENT = re.compile(r"\n([ \t]+)\S")

_HEADER = re.compile(r"^[ \t]*\[+([^\]\n]*)\]+[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value and where it stands: `start` is its first character, `end` the one after its last."""

    start: int
    end: int
    value: object
    members: tuple[JsonMember, ...] = ()
    """Of an object or a list, in the order of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMember:
    key: str | int
    start: int
    """Where the key begins, or the item of a list."""
    node: Node
    comma: int | None = field(default=None)
    """Where the comma after it stands, if there is one."""


def read_json(text: str) -> Node:
    """The file's one value. A file that holds nothing, or nothing but comments, is not JSON."""
    try:
        reader = _JsonReader(text)
        node = reader.value(reader.blank(0))
        if reader.blank(node.end) != len(text):
            raise reader.wrong(node.end)
    except RecursionError:
        raise ConfigUnreadable("It is nested too deeply.") from None
    return node


def find_json(node: Node, path: tuple[str, ...]) -> Node | None:
    """The value at a path of keys."""
    for key in path:
        inner = next((member.node for member in node.members if member.key == key), None)
        if inner is None:
            return None
        node = inner
    return node


def add_json(text: str, path: tuple[str, ...], value: object, *, to_list: bool = False) -> tuple[str, str]:
    """The text with this value at the path, or at the end of the list there, and the piece that was inserted.

    Objects that are missing on the way come into being with it.
    """
    root = read_json(text) if text.strip() else None
    if root is None:
        whole = _dump(_nested(path, value, to_list=to_list), _Style(text), "") + "\n"
        return text + whole, whole
    node, left = root, list(path)
    while left and (inner := find_json(node, (left[0],))):
        node = inner
        left.pop(0)
    if not isinstance(node.value, list if to_list and not left else dict):
        raise ConfigUnreadable(f"'{'.'.join(path)}' is not where it can be put: something else stands there.")
    content = (
        value if not left or (len(left) == 1 and not to_list) else _nested(tuple(left[1:]), value, to_list=to_list)
    )
    at, piece = _insertion(text, node, left[0] if left else None, content, _Style(text))
    return text[:at] + piece + text[at:], piece


def removed_json(text: str, path: tuple[str, ...]) -> str:
    """The text without the member at this path."""
    holder = find_json(read_json(text), path[:-1])
    at = next((at for at, each in enumerate(holder.members) if each.key == path[-1]), None) if holder else None
    return text if holder is None or at is None else cut_json(text, holder, at)


def cut_json(text: str, holder: Node, at: int) -> str:
    """The text without one member of an object or list: the member, the white space before it, and one comma."""
    member, before = holder.members[at], holder.members[at - 1] if at else None
    start = len(text[: member.start].rstrip())
    if member.comma is not None:
        return text[:start] + text[member.comma + 1 :]
    text = text[:start] + text[member.node.end :]
    if before and before.comma is not None:
        return text[: before.comma] + text[before.comma + 1 :]
    return text


def _nested(path: tuple[str, ...], value: object, *, to_list: bool) -> object:
    content: object = [value] if to_list else value
    for key in reversed(path):
        content = {key: content}
    return content


class _Style:
    """How the file is written: its line end, its step of indentation, or everything on one line."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        found = _INDENT.search(text.replace("\r\n", "\n"))
        self.step = found[1] if found else "  "
        self.one_line = "\n" not in text.strip() and len(text.strip("\ufeff \t\r\n")) > 2


def _dump(value: object, style: _Style, indent: str) -> str:
    if style.one_line:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=style.step).split("\n")
    return (style.newline + indent).join(lines)


def _insertion(text: str, node: Node, key: str | None, value: object, style: _Style) -> tuple[int, str]:
    """Where to insert a new last member, and the text that makes it one."""
    before = text[: node.start]
    line = before[before.rfind("\n") + 1 :]
    indent = line[: len(line) - len(line.lstrip())] + style.step
    if node.members and (own := _own_line(text, node.members[-1].start)) is not None:
        indent = own
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
    member = name + _dump(value, style, indent)
    if node.members:
        gap = " " if style.one_line else style.newline + indent
        return node.members[-1].node.end, f",{gap}{member}"
    if style.one_line:
        return node.start + 1, member
    inside = text[node.start + 1 : node.end - 1]
    tail = "" if "\n" in inside else style.newline + indent.removesuffix(style.step)
    return node.start + 1, f"{style.newline}{indent}{member}{tail}"


def _own_line(text: str, at: int) -> str | None:
    """The indentation of what stands at `at`, when nothing stands before it on its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if "\n" in text[:at] and not line.strip() else None


class _JsonReader:
    def __init__(self, text: str) -> None:
        self._text = text

    def wrong(self, at: int) -> ConfigUnreadable:
        line = self._text.count("\n", 0, at) + 1
        return ConfigUnreadable(f"Line {line} is not valid JSON.")

    def blank(self, at: int) -> int:
        """Past white space, comments and the mark that some editors put at the start of a file."""
        at += self._text.startswith("\ufeff", at) and at == 0
        found = _BLANK.match(self._text, at)
        return found.end() if found else at

    def value(self, at: int) -> Node:
        here = self._text[at : at + 1]
        if here == "{":
            return self._holder(at, "}")
        if here == "[":
            return self._holder(at, "]")
        found = _SCALAR.match(self._text, at)
        try:
            if found:
                value: object = json.loads(found[0])
                return Node(start=at, end=found.end(), value=value)
        except ValueError:
            pass
        raise self.wrong(at)

    def _holder(self, start: int, shut: str) -> Node:
        members, at = list[JsonMember](), self.blank(start + 1)
        while not self._text.startswith(shut, at):
            if members and members[-1].comma is None:
                raise self.wrong(at)
            member = self._member(at, len(members) if shut == "]" else None)
            members.append(member)
            at = self.blank(member.node.end if member.comma is None else member.comma + 1)
        value: object = (
            [each.node.value for each in members]
            if shut == "]"
            else {str(each.key): each.node.value for each in members}
        )
        return Node(start=start, end=at + 1, value=value, members=tuple(members))

    def _member(self, start: int, index: int | None) -> JsonMember:
        key: str | int = index or 0
        at = start
        if index is None:
            name = self.value(start)
            at = self.blank(name.end)
            if not isinstance(name.value, str) or not self._text.startswith(":", at):
                raise self.wrong(at)
            key, at = name.value, self.blank(at + 1)
        node = self.value(at)
        after = self.blank(node.end)
        return JsonMember(key=key, start=start, node=node, comma=after if self._text.startswith(",", after) else None)


def read_toml(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as wrong:
        raise ConfigUnreadable(f"It is not valid TOML: {wrong}.") from None


def added_toml(text: str, path: tuple[str, ...], table: Mapping[str, str | Sequence[str] | bool]) -> tuple[str, str]:
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


def removed_toml(text: str, path: tuple[str, ...]) -> str:
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
