"""Changing JSON and TOML as text: every other byte stays, and what was added can be taken away."""

from __future__ import annotations

import json
import tomllib
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.harnesses.errors import ConfigUnreadable
from tallystick.harnesses.install import file_formats

ENTRY: dict[str, object] = {"command": "tally", "args": ["mcp"]}
keys = st.text(st.characters(codec="utf-8"), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(keys.filter(lambda key: key not in {"mcpServers", "hooks"}), values, max_size=4)
blanks = st.sampled_from(["", " ", "\n", "\r\n", "\t", " // note\n", "/* a, {b} */", "\n\n  "])


@st.composite
def odd_texts(draw: st.DrawFn) -> tuple[str, object]:
    """A document and the same written with odd spacing, comments and commas."""
    servers = draw(st.none() | st.dictionaries(keys.filter(lambda key: key != "tally"), values, max_size=2))
    value: dict[str, object] = {**draw(objects), **({"mcpServers": servers} if servers is not None else {})}
    return _written(draw, value), value


def _written(draw: st.DrawFn, value: object) -> str:
    if isinstance(value, dict):
        found = cast("dict[str, object]", value)
        parts = [f"{json.dumps(key)}{draw(blanks)}:{_written(draw, each)}" for key, each in found.items()]
        return _held(draw, "{", parts, "}")
    if isinstance(value, list):
        return _held(draw, "[", [_written(draw, each) for each in cast("list[object]", value)], "]")
    return draw(blanks) + json.dumps(value, ensure_ascii=draw(st.booleans())) + draw(blanks)


def _held(draw: st.DrawFn, start: str, parts: list[str], end: str) -> str:
    trailing = "," if parts and draw(st.booleans()) else ""
    return draw(blanks) + start + draw(blanks) + ",".join(draw(blanks) + part for part in parts) + trailing + end


@given(odd_texts())
def test_any_json_with_comments_is_read_as_it_was_meant(case: tuple[str, object]) -> None:
    text, value = case

    assert file_formats.read_json(text).value == value


@given(odd_texts())
def test_what_is_added_is_one_insertion_into_the_text(case: tuple[str, object]) -> None:
    text, value = case

    after, piece = file_formats.add_json(text, ("mcpServers", "tally"), ENTRY)

    whole = cast("dict[str, dict[str, object]]", value)
    assert file_formats.read_json(after).value == {
        **whole,
        "mcpServers": {**whole.get("mcpServers", {}), "tally": ENTRY},
    }
    assert after.count(piece) >= 1
    assert text in {after[:at] + after[at + len(piece) :] for at in range(len(after)) if after.startswith(piece, at)}


@given(odd_texts())
def test_what_was_added_can_be_cut_out_without_knowing_the_insertion(case: tuple[str, object]) -> None:
    text, value = case
    after, _ = file_formats.add_json(text, ("mcpServers", "tally"), ENTRY)

    left = file_formats.read_json(file_formats.removed_json(after, ("mcpServers", "tally"))).value

    assert left == {"mcpServers": {}, **cast("dict[str, object]", value)}


@given(odd_texts())
def test_a_list_grows_at_its_end(case: tuple[str, object]) -> None:
    text, value = case

    once, _ = file_formats.add_json(text, ("hooks", "Stop"), 1, to_list=True)
    twice, _ = file_formats.add_json(once, ("hooks", "Stop"), {"a": [2]}, to_list=True)

    assert file_formats.read_json(twice).value == {
        **cast("dict[str, object]", value),
        "hooks": {"Stop": [1, {"a": [2]}]},
    }


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{"a": 1}', '{"a": 1, "s": {"t": 1}}'),
        ("{}", '{\n  "s": {\n    "t": 1\n  }\n}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"s": {\n\t\t"t": 1\n\t}\n}\n'),
        ('{\r\n  "s": {}\r\n}', '{\r\n  "s": {\r\n    "t": 1\r\n  }\r\n}'),
        ("", '{\n  "s": {\n    "t": 1\n  }\n}\n'),
        ("\ufeff{}", '\ufeff{\n  "s": {\n    "t": 1\n  }\n}'),
    ],
)
def test_additions_follow_the_style_of_the_file(text: str, after: str) -> None:
    assert file_formats.add_json(text, ("s", "t"), 1)[0] == after


@pytest.mark.parametrize(
    "text", ["{", "[1,,2]", '{"a" 1}', "{'a': 1}", "{a: 1}", '{"a": 01x}', "1 2", "/* open", '"\x01"']
)
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ConfigUnreadable):
        file_formats.read_json(text)


TOML = [
    "",
    "a = 1",
    "# only a comment\n",
    '[mcp_servers.other]\ncommand = "x"\n',
    '[mcp_servers]\n"x y".command = "z"\n',
    'text = """\n[mcp_servers.tally]\n"""\n',
    "list = [\n  [1],\n  [2],\n]\r\n",
]


@pytest.mark.parametrize("text", TOML)
def test_a_table_is_added_at_the_end_and_taken_away_again(text: str) -> None:
    path = ("mcp_servers", "tally")

    after, piece = file_formats.added_toml(text, path, {"command": 'C:\\a "b"', "args": ["mcp", "ä"]})

    assert after == text + piece
    assert tomllib.loads(after.replace("\r\n", "\n"))["mcp_servers"]["tally"] == {
        "command": 'C:\\a "b"',
        "args": ["mcp", "ä"],
    }
    assert file_formats.read_toml(file_formats.removed_toml(after, path)) == file_formats.read_toml(text)


def test_tables_below_ours_go_with_it_and_others_stay() -> None:
    text = "[mcp_servers.tally]\na = 1\n[mcp_servers.tally.tools.x]\nb = 2\n[mcp_servers.tallyho]\nc = 3\n"

    assert file_formats.removed_toml(text, ("mcp_servers", "tally")) == "[mcp_servers.tallyho]\nc = 3\n"
