"""The same story, carried out by the real Claude Code and the real Codex; only their models are scripted."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.loopback.model import scripted
from tests.loopback.programs import Home, installed
from tests.loopback.saying import Ask, Give, Saying, Use
from tests.stories.six_jobs import INSTEAD, SECRET, SHARED, Story, shop

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

EXECUTORS = {
    **dict.fromkeys(("port", "long", "last"), "claude_code"),
    **dict.fromkeys(("table", "endless", "both"), "codex"),
}
QUESTION = (
    'tally jobs report --room "$TALLYSTICK_ROOM" --job "$TALLYSTICK_JOB" --runner-id "$TALLYSTICK_RUNNER"'
    ' --claim-revision "$TALLYSTICK_CLAIM_REVISION" --kind question --message "Which port?"'
)
FOR_EVER = "sleep 600"


def shell(ask: Ask, command: str) -> Use:
    """A command in the tool that this harness has for it."""
    if "exec_command" in ask.tools:
        return Use(tool="exec_command", given={"cmd": command})
    return Use(tool="Bash", given={"command": command})


def answer(status: str, summary: str, *refs: str) -> Give:
    return Give(answer={"status": status, "summary": summary, "refs": list(refs), "events": []})


def leave(ask: Ask, name: str, text: str, summary: str = "") -> Saying:
    """Write a file, then answer with it."""
    if any(f"wrote {name}" in result for result in ask.results):
        return answer("DONE", summary or text, f"FILE: {name}")
    return shell(ask, f"echo '{text}' > {name} && echo wrote {name}")


def agent(ask: Ask) -> Saying:
    """What the model says, by the job and the slice that its prompt is about."""
    title = _found(r"^title: (\w+)$", ask.prompt)
    match title, int(_found(r"This is slice (\d+)", ask.prompt)):
        case "port", _:
            return _port(ask)
        case "table", _:
            return _table(ask)
        case "long", 1:
            return answer("CONTINUE", SECRET)
        case ("long", 2) | ("endless", _):
            return shell(ask, FOR_EVER)
        case "long", _:
            return leave(ask, "long.txt", f"done after {_found(r'(SECRET-STATE-[0-9]+)', ask.prompt)}")
        case "both", 1:
            return answer("DONE", "All tests pass (exit 0), I checked them with pytest -q.")
        case _:
            return leave(ask, f"{title}.txt", "done")


def _port(ask: Ask) -> Saying:
    """Asks by a direct report, and goes on with the answer in its next slice."""
    if "8080" in ask.prompt:
        return leave(ask, SHARED, "port 8080")
    return shell(ask, QUESTION) if ask.turn == 0 else answer("CONTINUE", "asked for the port")


def _table(ask: Ask) -> Saying:
    """Works on, command after command, until a hook brings it the manager's words."""
    heard = INSTEAD in "\n".join((ask.prompt, ask.told, *ask.results))
    return leave(ask, SHARED, "renamed", "renamed it, as I was told") if heard else shell(ask, "sleep 0.2")


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else "0"


@pytest.fixture
def story(common_hub: Path, tmp_path: Path) -> Generator[Story]:
    with shop(common_hub, tmp_path) as shift:
        yield Story.begun(shift, EXECUTORS)


def test_claude_code_and_codex_live_through_the_story_of_six_jobs(story: Story, tmp_path: Path) -> None:
    claude, codex = installed("claude"), installed("codex")
    with scripted(agent) as model:
        home = Home(tmp_path / "home", model).env
        path = f"{story.manager.env['PATH'].partition(':')[0]}:{home['PATH']}"
        env = {**story.manager.env, **home, "PATH": path}
        options = ("--claude-bin", str(claude), "--codex-bin", str(codex), "--max-parallel", "2")
        first = story.shift.runner(None, *options, runner_id="r1", env=env)
        second = story.shift.runner(None, *options, runner_id="r2", env=env)
        with first as r1, second as r2:
            story.played({"r1": r1, "r2": r2})
    assert not [each for each in model.asked if each.prompt.count("=== MANAGER ===") and "title: table" in each.prompt]
    story.ended_well()
    story.reported()
