"""Refs that were written into a text are found: deterministically, in order, and no more than allowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT, salvage


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- CMD: pytest -q", ["CMD: pytest -q"]),
        ("1. LINK: https://ci.example/7", ["LINK: https://ci.example/7"]),
        ("> * CMD make test", ["CMD: make test"]),
        ("• https://ci.example/7", ["LINK: https://ci.example/7"]),
        ("<https://ci.example/7>", ["LINK: https://ci.example/7"]),
        ("$ cargo test --all", ["CMD: cargo test --all"]),
        ("`pytest -q tests`", ["CMD: pytest -q tests"]),
        ("go test ./...", ["CMD: go test ./..."]),
        ("FILE: src/a.py", ["FILE: src/a.py"]),
        ("Stored in CARD-001, see (TASK-002) and notes@17.", ["CARD-001", "TASK-002", "notes@17"]),
        ("about a:parser; event JOB-003@9!", ["a:parser", "JOB-003@9"]),
        ("report at artifact://jobs/JOB-001/report.", ["artifact://jobs/JOB-001/report"]),
        ("See https://ci.example/7.", ["LINK: https://ci.example/7"]),
        ("I made it work and tested a lot.", []),
        ("the makefile was changed; going on", []),
        ("", []),
    ],
)
def test_refs_are_found_in_a_text(text: str, found: list[str]) -> None:
    assert salvage([], text) == found


def test_refs_that_were_given_come_first_and_nothing_comes_twice() -> None:
    text = "CMD: pytest\nSee CARD-001 and CARD-002 and CARD-001."
    assert salvage(["CARD-002", " CARD-002 ", ""], text) == ["CARD-002", "CMD: pytest", "CARD-001"]


def test_receipts_come_before_commands_and_commands_before_ids() -> None:
    assert salvage([], "CARD-001\npytest -q\nCMD: make") == ["CMD: make", "CMD: pytest -q", "CARD-001"]


def test_nothing_is_added_that_was_not_there() -> None:
    assert salvage([], "all done") == []


def test_there_are_never_more_refs_than_allowed_and_none_is_longer() -> None:
    text = "\n".join(f"CMD: pytest {'x' * 200} {number}" for number in range(100))
    found = salvage([], text + "".join(f" CARD-{number:03d}" for number in range(100)))
    assert len(found) <= REFS_LIMIT
    assert max(map(len, found)) == REF_LIMIT


@given(st.lists(st.text(max_size=128), max_size=32), st.text(max_size=2000))
def test_any_text_gives_the_same_bounded_refs_every_time(given: list[str], text: str) -> None:
    found = salvage(given, text)
    assert found == salvage(given, text)
    assert len(found) == len(set(found)) <= max(REFS_LIMIT, len(given))
    assert all(len(ref) <= REF_LIMIT for ref in found)
