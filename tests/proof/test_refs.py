"""Refs are read the same way by everybody, also when nobody meant well."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.proof import refs
from tallystick.proof.refs import Ref, RefKind, parse

SHA = "0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("JOB-001", RefKind.JOB, "JOB-001"),
        ("job-001", RefKind.JOB, "JOB-001"),
        ("TASK-0012", RefKind.TASK, "TASK-0012"),
        ("CARD-007", RefKind.CARD, "CARD-007"),
        ("notes@17", RefKind.NOTE, "notes@17"),
        ("a:parser-2", RefKind.ANCHOR, "a:parser-2"),
        ("artifact://jobs/JOB-001/report", RefKind.ARTIFACT, "JOB-001/report"),
        ("https://ci.example/run/1", RefKind.LINK, "https://ci.example/run/1"),
        ("<https://ci.example/run/1>", RefKind.LINK, "https://ci.example/run/1"),
        ("LINK: https://ci.example", RefKind.LINK, "https://ci.example"),
        ("CMD: pytest -q", RefKind.CMD, "pytest -q"),
        ("cmd: pytest -q", RefKind.CMD, "pytest -q"),
        ("cmd line parsing", RefKind.OTHER, "cmd line parsing"),
        ("FILE: src/a.py", RefKind.FILE, "src/a.py"),
        ("FILE: `src/a.py`", RefKind.FILE, "src/a.py"),
        ('FILE: "with space.py"', RefKind.FILE, "with space.py"),
        ("CMD:", RefKind.CMD, ""),
        ("CMD", RefKind.CMD, ""),
        ("PLAN-001", RefKind.OTHER, "PLAN-001"),
        ("JOB-1", RefKind.OTHER, "JOB-1"),
        ("TASK-001@3", RefKind.OTHER, "TASK-001@3"),
        ("a:", RefKind.OTHER, "a:"),
        ("a:Bad", RefKind.OTHER, "a:Bad"),
        ("src/a.py", RefKind.OTHER, "src/a.py"),
        ("", RefKind.OTHER, ""),
    ],
)
def test_a_ref_is_recognised_by_its_form(text: str, kind: RefKind, value: str) -> None:
    found = parse(text)
    assert (found.kind, found.value) == (kind, value)


def test_a_jobs_event_has_its_place() -> None:
    assert parse("JOB-001@17") == Ref(text="JOB-001@17", kind=RefKind.JOB_EVENT, value="JOB-001", seq=17)


@pytest.mark.parametrize(
    ("text", "command", "exit_code", "sha256"),
    [
        (f"CMD: pytest -q (exit 0, sha256 {SHA})", "pytest -q", 0, SHA),
        ("CMD: make test (exit 2)", "make test", 2, None),
        (f"CMD: make (sha256 {SHA})", "make", None, SHA),
        ("CMD: echo (exit zero)", "echo", 0, None),
        ("CMD: echo ()", "echo ()", None, None),
    ],
)
def test_a_command_can_carry_its_exit_code_and_the_hash_of_its_output(
    text: str, command: str, exit_code: int | None, sha256: str | None
) -> None:
    found = parse(text)
    assert (found.value, found.exit_code, found.sha256) == (command, exit_code, sha256)


def test_receipts_that_are_written_are_read_back() -> None:
    written = refs.command("pytest -q", exit_code=0, output_sha256=SHA * 4)
    assert (parse(written).value, parse(written).exit_code, parse(written).sha256) == ("pytest -q", 0, SHA)
    assert parse(refs.file("src/a.py", SHA * 4)).sha256 == SHA
    assert parse(refs.file("src/a.py", SHA * 4).upper()).sha256 == SHA


@given(st.text(max_size=200))
def test_any_text_at_all_is_read_without_an_error(text: str) -> None:
    assert parse(text).text == text.strip()
