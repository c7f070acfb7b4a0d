"""Text that agents wrote reaches the terminal as text and as nothing else."""

from __future__ import annotations

import io
import json
import sys
import time

import pytest

from tallystick.capabilities.turns.contract import Handoff
from tallystick.commandline import output
from tallystick.commandline.output import visible, visible_json, visible_lines
from tallystick.kernel.clock import from_wire
from tallystick.kernel.operation import as_record
from tallystick.surfaces.cli import screen

HOSTILE = {
    "escape": ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
    "one-byte csi": ("\x9b2J", "\\x9b2J"),
    "osc title and bell": ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
    "hyperlink": ("\x1b]8;;http://x\x1b\\click", "\\x1b]8;;http://x\\x1b\\click"),
    "bidi override": ("user\u202egnp.exe", "user\\u202egnp.exe"),
    "bidi isolate": ("\u2066a\u2069", "\\u2066a\\u2069"),
    "zero width": ("ad\u200bmin", "ad\\u200bmin"),
    "line break": ("a\nb\r\nc", "a\\nb\\r\\nc"),
    "tab": ("a\tb", "a\\tb"),
    "unicode line": ("a\u2028b", "a\\u2028b"),
    "backspace": ("rm\x08\x08ls", "rm\\x08\\x08ls"),
    "nul and del": ("\x00\x7f", "\\x00\\x7f"),
    "lone surrogate": ("\udc80", "\\udc80"),
    "tag": ("\U000e0041", "\\U000e0041"),
    "plain": ("grüße, 日本 🙂", "grüße, 日本 🙂"),
}


@pytest.mark.parametrize(("given", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_does_not_print_is_shown_instead_of_sent(given: str, shown: str) -> None:
    assert visible(given) == shown


def test_only_a_line_feed_makes_a_line() -> None:
    assert visible_lines("a\nb\r\u2028c\x0bd") == ["a", "b\\r\\u2028c\\x0bd"]


@pytest.mark.parametrize("given", [given for given, _ in HOSTILE.values()])
def test_json_is_printable_and_reads_back_as_it_was(given: str) -> None:
    text = visible_json({"said": given, given: 1})

    assert text.isprintable()
    assert json.loads(text) == {"said": given, given: 1}


def test_a_cell_never_breaks_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    screen.table(["A", "B"], [["x\ty", "1\n2"], [["m\x1b", "n"], {"k": "\x9b"}], [None, True]])

    assert capsys.readouterr().out == 'A\tB\nx\\ty\t1\\n2\nm\\x1b, n\t{"k":"\\u009b"}\n-\tyes\n'


def test_a_handoff_is_a_block_whose_lines_cannot_pass_for_ours(capsys: pytest.CaptureFixture[str]) -> None:
    forged = as_record(
        Handoff,
        {
            "status": "done\nHandoff from system\x1b[2J",
            "next_action": "review",
            "artifacts": [
                {"path": "src/a.py", "role": "edit", "lines": [3, 9], "note": "here"},
                {"path": "b", "role": "review"},
            ],
            "open_questions": ["why?\nreally"],
            "do_not": ["touch main"],
        },
    )

    screen.handoff(forged, by="codex:1\x07")

    assert capsys.readouterr().out == (
        "Handoff from codex:1\\x07\n"
        "  Status\n    done\n    Handoff from system\\x1b[2J\n"
        "  Next action\n    review\n"
        "  Artifacts\n    - src/a.py:3-9 (edit): here\n    - b (review)\n"
        "  Open questions\n    - why?\n      really\n"
        "  Do not\n    - touch main\n"
    )


def test_any_answer_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    screen.answer(
        {"ok": True, "rooms": [{"id": "r1", "n": 1}, {"id": "r2", "x": "\x1b"}], "policy": {"ttl": 5}, "no": []}
    )

    assert capsys.readouterr().out == ("ok: yes\nrooms:\nid\tn\tx\nr1\t1\t-\nr2\t-\t\\x1b\npolicy:\n  ttl: 5\n")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("variables", "escapes"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_tables_and_watches_have_no_escapes_at_all_where_no_color_is_wanted(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], escapes: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    screen_of = _Terminal()
    monkeypatch.setattr(sys, "stdout", screen_of)

    screen.table(["agent"], [["ann"]])
    drawn = screen_of.getvalue()
    screen.clear()

    assert ("\x1b" in drawn, screen_of.getvalue() != drawn) == (escapes, escapes)


def test_times_are_told_from_now_and_by_the_clock_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "system_clock", lambda: from_wire("2026-01-31T12:00:00.000Z"))
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    moments = ("2026-01-31T11:59:59.500Z", "2026-01-31T11:57:00Z", "2026-01-31T14:30:00Z", "2025-12-24T08:00:00Z")

    told = [(output.relative_time(each), output.local_time(each)) for each in moments]
    monkeypatch.undo()
    time.tzset()

    assert told == [
        ("just now", "12:59"),
        ("3 min ago", "12:57"),
        ("in 2 h 30 min", "15:30"),
        ("38 d 4 h ago", "24 Dec 2025 09:00"),
    ]
