"""What everybody is doing: a readable name, harness, present words, edits and branch, and one word for each state."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tallystick.surfaces.web.filters import initials
from tests.agents.repository import git, repository
from tests.http.running import RunningHub
from tests.web.browsing import HANDOFF, Agent
from tests.web.conftest import Look


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("ada", "ad"),
        ("amber-otter", "ao"),
        ("agent-3", "a3"),
        ("agent-14", "a14"),
        ("x", "x"),
        ("--", "?"),
        ("日本", "日本"),
    ],
)
def test_initials_tell_names_that_begin_alike_apart(name: str, letters: str) -> None:
    assert initials(name) == letters


@pytest.mark.browser
def test_a_row_says_who_does_what_where(hub: RunningHub, look: Look, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo").resolve()
    git(checkout, "checkout", "-qb", "fix/retries")
    first, second = (hub.agent(name) for name in ("claude-code:4b18616e", "codex:9b22d0aa"))
    room = str(first.call("rooms.join", context_path=str(checkout))["room_id"])
    second.call("rooms.join", context_path=str(checkout))
    claude, codex = Agent(first, "claude-code:4b18616e", room), Agent(second, "codex:9b22d0aa", room)
    claude.call("agents.register", name="amber-otter", force_update=True)
    claude.call("turns.release", **claude.claim(), handoff=HANDOFF)
    codex.claim()
    codex.call("reservations.reserve", path="src/parser.py")
    claude.say("I look at the tests")
    viewer = look()
    viewer.go(f"/rooms/{room}")
    holder, other = (viewer.find(f"#people tr:has-text('{name}')") for name in ("codex:9b22d0aa", "amber-otter"))
    for text in ("Codex", "holds the stick", "src/parser.py", "active", "on fix/retries", "review the plan"):
        expect(holder).to_contain_text(text)
    for text in ("Claude Code", "claude-code:4b18616e", "on fix/retries", "I look at the tests"):
        expect(other).to_contain_text(text)
    viewer.shows("#rows .bubble:has-text('I look at the tests') a.who", "amber-otter")
    viewer.shows("#say .to", "amber-otter")
    viewer.go("/")
    viewer.shows("#people", "on fix/retries")
