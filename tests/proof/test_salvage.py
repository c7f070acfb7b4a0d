"""Receipts that were written into a text are found, its prose never is: deterministic and no more than allowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT, pointers, salvage


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- CMD: pytest -q", ["CMD: pytest -q"]),
        ("1. LINK: https://ci.example/7", ["LINK: https://ci.example/7"]),
        ("> * `FILE: src/a.py`", ["FILE: src/a.py"]),
        ("cmd: make test (exit 0)", ["CMD: make test (exit 0)"]),
        ("$ cargo test --all (exit 0)", ["CMD: cargo test --all (exit 0)"]),
        ("- `$ cargo test -> exit 101`", ["CMD: cargo test -> exit 101"]),
        ("$ cargo test --all", []),
        ("```\n$ pytest -q (exit 0)\n12 passed\n```", ["CMD: pytest -q (exit 0)"]),
        ("```console\npytest -q  # exit code 0\n```\nmake check (exit 0)", ["CMD: pytest -q  # exit code 0"]),
        ("~~~\npytest -q (exit 0)\n~~~", ["CMD: pytest -q (exit 0)"]),
        ("```\nmake the parser linear\n```", []),
        ("go test ./...", []),
        ("`pytest -q tests`", []),
        ("make check (exit 0)", []),
        ("CMD make test", []),
        ("cmd line parsing fixed", []),
        ("Link checker works now", []),
        ("<https://ci.example/7>", []),
        ("See https://ci.example/7 and CARD-001.", []),
        ("", []),
    ],
)
def test_only_lines_that_are_receipts_are_found_in_a_text(text: str, found: list[str]) -> None:
    assert salvage([], text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Stored in CARD-001, see (TASK-002) and notes@17.", ["CARD-001", "TASK-002", "notes@17"]),
        ("about a:parser; event JOB-003@9!", ["a:parser", "JOB-003@9"]),
        ("report at artifact://jobs/JOB-001/report.", ["artifact://jobs/JOB-001/report"]),
        ("See https://ci.example/7.", ["LINK: https://ci.example/7"]),
        ("CARD-001\nCMD: make (exit 0)", ["CMD: make (exit 0)", "CARD-001"]),
        ("I made it work and tested a lot.", []),
    ],
)
def test_a_managers_words_point_at_ids_and_addresses_too(text: str, found: list[str]) -> None:
    assert pointers([], text) == found


def test_refs_that_were_given_come_first_and_nothing_comes_twice() -> None:
    text = "CMD: pytest\nFILE: a.py\nCMD: pytest"
    assert salvage(["FILE: a.py", " FILE: a.py ", ""], text) == ["FILE: a.py", "CMD: pytest"]


def test_there_are_never_more_refs_than_allowed_and_none_is_longer() -> None:
    found = salvage([], "\n".join(f"CMD: pytest {'x' * 200} {number}" for number in range(100)))
    assert len(found) <= REFS_LIMIT
    assert max(map(len, found)) == REF_LIMIT


@given(st.lists(st.text(max_size=128), max_size=32), st.text(max_size=2000))
def test_any_text_gives_the_same_bounded_refs_every_time(given: list[str], text: str) -> None:
    for find in (salvage, pointers):
        found = find(given, text)
        assert found == find(given, text)
        assert len(found) == len(set(found)) <= max(REFS_LIMIT, len(given))
        assert all(len(ref) <= REF_LIMIT for ref in found)
