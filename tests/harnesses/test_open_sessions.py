"""What a window remembers of its sessions: a cleared one goes on as the same agent, a new one is another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tallystick.harnesses import open_sessions
from tallystick.kernel.caller import Process

WINDOW, LATER = (Process(host_id="host", pid=pid, started_at="1") for pid in (1, 2))


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TALLYSTICK_DATA_DIR", str(tmp_path))
    return tmp_path


def test_a_cleared_session_goes_on_under_its_first_name_also_when_it_is_resumed_elsewhere() -> None:
    began = open_sessions.begin(WINDOW, "one", same_agent=False)
    cleared = open_sessions.begin(WINDOW, "two", same_agent=True)
    resumed = open_sessions.begin(LATER, "two", same_agent=False)

    assert (began, cleared, resumed) == ("one", "one", "one")
    assert (open_sessions.of(WINDOW), open_sessions.of(LATER)) == ("one", "one")


def test_another_session_in_the_same_window_is_another_agent() -> None:
    open_sessions.begin(WINDOW, "one", same_agent=False)

    assert open_sessions.begin(WINDOW, "three", same_agent=False) == "three"
    assert open_sessions.of(WINDOW) == "three"


def test_a_call_is_a_sub_agents_only_where_a_hook_said_so() -> None:
    open_sessions.begin(WINDOW, "one", same_agent=False)
    open_sessions.note_call("call-1", "sub")

    assert (open_sessions.subagent_of("call-1"), open_sessions.subagent_of("call-2")) == ("sub", "")


def test_what_was_noted_long_ago_is_swept_away(data: Path) -> None:
    open_sessions.begin(WINDOW, "one", same_agent=False)
    open_sessions.begin(LATER, "two", same_agent=False)
    old = next(path for path in (data / "sessions").iterdir() if "-1-" in path.name)
    os.utime(old, (1, 1))

    open_sessions.sweep()

    assert (open_sessions.of(WINDOW), open_sessions.of(LATER)) == (None, "two")


def test_where_nothing_can_be_noted_the_session_still_has_its_name(data: Path) -> None:
    (data / "sessions").write_text("in the way", "utf-8")

    assert open_sessions.begin(WINDOW, "one", same_agent=False) == "one"
    assert open_sessions.of(WINDOW) is None
