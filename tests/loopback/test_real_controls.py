"""The real Claude Code and Codex told to compact and to review, driven by the scripted model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tallystick.harnesses.headless import programs
from tallystick.harnesses.headless.programs import PROGRAMS
from tallystick.harnesses.headless.protocol import HarnessAnswer, HarnessRequest, Outcome, ProcessStart
from tests.loopback.model import scripted
from tests.loopback.programs import Home, installed
from tests.loopback.saying import Ask, Say, Saying, lines

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]


def played(slug: str, start: ProcessStart, home: Home, work: Path) -> Outcome:
    done = subprocess.run(
        start.argv, input=start.stdin, cwd=work, env=home.env, capture_output=True, text=True, check=False
    )
    reader = PROGRAMS[slug].reader()
    for line in done.stdout.splitlines():
        reader.feed(line)
    return reader.end(done.returncode, done.stderr)


def changed(folder: Path) -> Path:
    """A repository with a change that nobody committed."""
    work = folder / "work"
    work.mkdir()
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (work / "flock").write_text("three\n")
    for args in (["init", "-q"], ["add", "."], ["commit", "-qm", "a flock"]):
        subprocess.run([*git, *args], cwd=work, check=True)
    (work / "flock").write_text("four\n")
    return work


def shepherd(ask: Ask) -> Saying:
    wanted = "detailed summary" in ask.prompt
    return Say(text="<summary>twelve sheep</summary>" if wanted else "Three.")


def test_claude_code_compacts_a_session_and_goes_on_with_it(tmp_path: Path) -> None:
    work = changed(tmp_path)
    binary = [str(installed("claude"))]
    with scripted(shepherd) as model:
        home, session = Home(tmp_path / "home", model), None
        # It refuses to compact what is short already.
        for _ in range(3):
            count = HarnessRequest(prompt="count", scratch=tmp_path, keep=True, resume=session)
            session = played("claude-code", PROGRAMS["claude-code"].start(binary, count), home, work).session_id
        again = HarnessRequest(prompt="", scratch=tmp_path, keep=True, resume=session)
        compacted = played("claude-code", programs.compact("claude-code", binary, again), home, work)
        follow = HarnessRequest(prompt="and now?", scratch=tmp_path, keep=True, resume=compacted.session_id)
        after = played("claude-code", PROGRAMS["claude-code"].start(binary, follow), home, work)

    assert isinstance(compacted, HarnessAnswer), compacted
    assert isinstance(after, HarnessAnswer), after
    assert "twelve sheep" in model.asked[-1].prompt


@pytest.mark.parametrize("instructions", ["", "look at the flock"])
@pytest.mark.parametrize("slug", ["codex", "claude-code"])
def test_a_harness_reviews_what_was_changed(tmp_path: Path, slug: str, instructions: str) -> None:
    work = changed(tmp_path)
    binary = [str(installed(PROGRAMS[slug].command))]
    with scripted(lines(Say(text="One sheep too many."))) as model:
        request = HarnessRequest(prompt=instructions, scratch=tmp_path, keep=True)
        outcome = played(slug, programs.review(slug, binary, request), Home(tmp_path / "home", model), work)

    assert isinstance(outcome, HarnessAnswer), outcome
    assert "One sheep too many." in outcome.text
    assert instructions in model.asked[0].prompt
