"""Overlap against brute force: however paths are spelled, two scopes overlap exactly when some file lies in both."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.kernel.scopes import PathOutside, RoomPath, ancestors, classify, covers, fold, lexical

NAMES = ("a", "b", "ab", "A", "caf\u00e9")
DEPTH = 3
FILES = [path for depth in range(1, DEPTH + 2) for path in itertools.product(NAMES, repeat=depth)]
"""Every file there could be, one level deeper than any scope."""

Key = tuple[str, ...]
keys = st.lists(st.sampled_from(NAMES), max_size=DEPTH).map(tuple)


def inside(key: Key, *, folds: bool) -> frozenset[Key]:
    """All files that are in a scope: itself, or below it."""

    def same(one: Key) -> Key:
        return tuple(name.lower() for name in one) if folds else one

    return frozenset(same(file) for file in FILES if same(file[: len(key)]) == same(key))


def brute(one: Key, other: Key, *, folds: bool = False) -> str:
    a, b = inside(one, folds=folds), inside(other, folds=folds)
    return "exact" if a == b else "partial" if a & b else "disjoint"


@st.composite
def spellings(draw: st.DrawFn, key: Key) -> str:
    """One of the many ways to write a path."""
    parts: list[str] = []
    for name in key:
        detour = draw(st.sampled_from(([], [], ["."], ["x", ".."], [""])))
        # A leading empty part would make it absolute.
        parts += [part for part in detour if part or parts]
        parts.append(unicodedata.normalize(draw(st.sampled_from(("NFC", "NFD"))), name))
    text = draw(st.sampled_from(("/", "\\", "/"))).join(parts) or "."
    ending = draw(st.sampled_from(("", "/", "/*", "/.", "//")))
    return text + ending


@st.composite
def written(draw: st.DrawFn) -> tuple[Key, str]:
    key = draw(keys)
    return key, draw(spellings(key))


@settings(max_examples=300)
@given(written(), written())
def test_overlap_is_what_brute_force_says_and_the_same_from_either_side(
    one: tuple[Key, str], other: tuple[Key, str]
) -> None:
    a, b = lexical(one[1]), lexical(other[1])
    expected = brute(one[0], other[0])
    assert (classify(a, b), classify(b, a)) == (expected, expected)
    assert covers(a, b) == (inside(one[0], folds=False) >= inside(other[0], folds=False))


@settings(max_examples=200)
@given(written(), written(), st.booleans())
def test_where_either_side_ignores_case_so_does_the_overlap(
    one: tuple[Key, str], other: tuple[Key, str], first: bool
) -> None:
    a, b = lexical(one[1], folds=first), lexical(other[1], folds=not first)
    expected = brute(one[0], other[0], folds=True)
    assert (classify(a, b), classify(b, a)) == (expected, expected)


@settings(max_examples=200)
@given(written(), written())
def test_a_look_up_by_ancestors_and_by_range_finds_every_overlap(one: tuple[Key, str], other: tuple[Key, str]) -> None:
    a, b = lexical(one[1]), lexical(other[1])
    found = b.folded in ancestors(a.folded) or not a.folded or f"{a.folded}/" <= b.folded < f"{a.folded}0"
    assert found or classify(a, b) == "disjoint"


@settings(max_examples=200)
@given(st.lists(st.sampled_from(("a", "b", "..", ".", "")), min_size=1, max_size=8))
def test_what_climbs_out_is_refused_and_nothing_else(parts: list[str]) -> None:
    text = "/".join(parts)
    depth, lowest = 0, 0
    for part in parts:
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        lowest = min(lowest, depth)
    # Lexically, a path climbs out when it ends outside or has passed through the outside on the way.
    if not text.strip() or text.startswith("/"):
        return
    if lowest < 0:
        with pytest.raises(PathOutside):
            lexical(text)
    else:
        assert lexical(text).key.count("/") == max(depth - 1, 0)


@settings(max_examples=300)
@given(st.text(max_size=30))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@settings(max_examples=300)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_a_scope_or_a_refusal_and_overlap_stays_symmetric(one: str, other: str) -> None:
    def read(text: str) -> RoomPath | None:
        from tallystick.kernel.errors import Refused

        try:
            return lexical(text)
        except Refused:
            return None

    a, b = read(one), read(other)
    if a and b:
        assert classify(a, b) == classify(b, a)
        assert classify(a, a) == "exact"
