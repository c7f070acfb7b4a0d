"""How two scopes overlap, as text: the specified examples, and the spelling of paths."""

from __future__ import annotations

import pytest

from tallystick.kernel import scopes
from tallystick.kernel.scopes import classify, lexical
from tests.scene import refused


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("src/*", "src/lib/parser.ts", "partial"),
        ("src/lib", "src/lib/parser.ts", "partial"),
        ("src/lib/parser.ts", "src/lib/parser.ts", "exact"),
        ("src/lib", "src/components", "disjoint"),
    ],
)
def test_the_examples_of_the_specification(one: str, other: str, expected: str) -> None:
    assert classify(lexical(one), lexical(other)) == expected
    assert classify(lexical(other), lexical(one)) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("src/*", "src", "exact"),
        ("src/*", "src/*", "exact"),
        ("src/", "src", "exact"),
        ("./src", "src", "exact"),
        ("src/../src/a.py", "src/a.py", "exact"),
        ("src\\lib\\a.py", "src/lib/a.py", "exact"),
        ("src//lib", "src/lib", "exact"),
        ("*", ".", "exact"),
        (".", "src/a.py", "partial"),
        ("src/a.py", "src", "partial"),
        ("src/auth/x.py", "src/auth", "partial"),
        ("src/lib", "src/library", "disjoint"),
        ("src/lib", "src/lib.py", "disjoint"),
        ("src/lib", "src/lib-old/a", "disjoint"),
        ("lib.py", "pkg/lib.py", "disjoint"),
        ("caf\u00e9", "cafe\u0301", "exact"),
        ("README.md", "readme.md", "disjoint"),
        ("src/[id]/page.tsx", "src/[id]", "partial"),
    ],
)
def test_a_scope_is_a_path_with_everything_below_it(one: str, other: str, expected: str) -> None:
    assert classify(lexical(one), lexical(other)) == expected
    assert classify(lexical(other), lexical(one)) == expected


def test_where_one_file_system_ignores_case_two_spellings_are_one_path() -> None:
    sensitive, insensitive = lexical("README.md"), lexical("readme.MD", folds=True)
    assert classify(sensitive, insensitive) == "exact"
    assert classify(insensitive, lexical("ReadMe.md/x")) == "partial"
    assert classify(lexical("a"), lexical("A")) == "disjoint"


@pytest.mark.parametrize(
    "pattern",
    ["src/**", "src/**/*", "*.py", "src/*.py", "src/a*", "src/*/test", "s?c", "**", "src/*/", "/*/x"],
)
def test_a_pattern_beyond_a_whole_folder_is_refused(pattern: str) -> None:
    with refused("glob_not_supported") as caught:
        lexical(pattern)
    assert caught.value.details == {"path": pattern}


@pytest.mark.parametrize("path", ["..", "../x", "src/../../x", "/etc/passwd", "C:/work", "c:\\work", "~/x", "a/../.."])
def test_what_leads_out_of_the_room_is_refused(path: str) -> None:
    with refused("path_outside"):
        lexical(path)


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "\udcff"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with refused("invalid_input"):
        lexical(path)


def test_a_path_has_at_most_4096_bytes() -> None:
    assert lexical("é" * 2048).key == "é" * 2048
    with refused("too_large"):
        lexical("é" * 2049)


def test_a_path_is_shown_as_it_was_meant() -> None:
    assert [lexical(text).path for text in ("src/", "src/*", ".", "*", "./a/../b")] == ["src", "src/*", ".", "*", "b"]


def test_the_way_up_ends_at_the_root() -> None:
    assert list(scopes.ancestors("a/b/c")) == ["", "a", "a/b", "a/b/c"]
    assert list(scopes.ancestors("")) == [""]
