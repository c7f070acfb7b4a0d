"""The real Claude Code and Codex, driven by the scripted model through our headless calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tallystick.harnesses.headless.programs import PROGRAMS
from tallystick.harnesses.headless.protocol import (
    Began,
    CommandEnded,
    Failed,
    HarnessAnswer,
    HarnessRequest,
    HarnessStep,
    Outcome,
    Sandbox,
    Sign,
)
from tests.loopback.model import scripted
from tests.loopback.programs import Home, installed
from tests.loopback.saying import Ask, Give, Refuse, Say, Saying, Script, Use, lines

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

SCHEMA: dict[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["status", "summary"],
    "properties": {"status": {"type": "string", "enum": ["DONE", "FAILED"]}, "summary": {"type": "string"}},
}
SHELL = {"codex": ("exec_command", "cmd"), "claude-code": ("Bash", "command")}
WAIT = {
    "codex": Use(tool="exec_command", given={"cmd": "sleep 0.5"}),
    "claude-code": Use(tool="WaitForMcpServers", given={}),
}
"""What each does to let its servers come up."""
SERVER = [str(Path(sys.executable).with_name("tally")), "mcp"]
every_harness = pytest.mark.parametrize("slug", sorted(SHELL))


def run(slug: str, home: Home, folder: Path, request: HarnessRequest) -> tuple[list[Sign], Outcome]:
    program = PROGRAMS[slug]
    start = program.start([str(installed(program.command))], request)
    for file, text in start.files.items():
        file.write_text(text)
    work = folder / "work"
    work.mkdir(exist_ok=True)
    done = subprocess.run(
        start.argv, input=start.stdin, cwd=work, env=home.env, capture_output=True, text=True, check=False
    )
    reader = program.reader()
    signs = [sign for line in done.stdout.splitlines() for sign in reader.feed(line)]
    return signs, reader.end(done.returncode, done.stderr)


def played(slug: str, folder: Path, script: Script, **asked: object) -> tuple[list[Sign], Outcome, list[Ask]]:
    with scripted(script) as model:
        request = HarnessRequest(prompt="count the sheep", scratch=folder, **asked)  # pyright: ignore[reportArgumentType]
        signs, outcome = run(slug, Home(folder / "home", model), folder, request)
    return signs, outcome, model.asked


def shell(slug: str, command: str) -> Use:
    tool, field = SHELL[slug]
    return Use(tool=tool, given={field: command})


@every_harness
def test_a_harness_works_in_its_folder_and_gives_a_structured_answer(tmp_path: Path, slug: str) -> None:
    answer = {"status": "DONE", "summary": "three sheep"}

    signs, outcome, asked = played(
        slug, tmp_path, lines(shell(slug, "echo 3 > sheep; cat sheep"), Give(answer=answer)), schema=SCHEMA
    )

    assert (tmp_path / "work/sheep").read_text() == "3\n"
    began, step, ended = signs
    assert isinstance(began, Began)
    assert isinstance(step, HarnessStep)
    assert "echo 3 > sheep" in step.text
    assert isinstance(ended, CommandEnded)
    assert ("echo 3 > sheep" in ended.command, ended.exit_code) == (True, 0)
    assert isinstance(outcome, HarnessAnswer)
    assert (outcome.data, outcome.session_id) == (answer, began.session_id)
    assert ["count the sheep" in ask.prompt for ask in asked] == [True, True]
    assert "3" in asked[1].results[0]


@every_harness
def test_plain_words_are_an_answer_without_an_object(tmp_path: Path, slug: str) -> None:
    _, outcome, _ = played(slug, tmp_path, lines(Say(text="I counted three.")))

    assert isinstance(outcome, HarnessAnswer)
    assert (outcome.text, outcome.data) == ("I counted three.", None)


@every_harness
def test_a_read_only_harness_changes_no_file(tmp_path: Path, slug: str) -> None:
    played(slug, tmp_path, lines(shell(slug, "echo 3 > sheep"), Say(text="I could not.")), sandbox=Sandbox.READ_ONLY)

    assert list((tmp_path / "work").iterdir()) == []


@every_harness
def test_a_kept_session_goes_on_where_it_was(tmp_path: Path, slug: str) -> None:
    with scripted(lines(Say(text="Three."), Say(text="Still three."))) as model:
        home = Home(tmp_path / "home", model)
        _, first = run(slug, home, tmp_path, HarnessRequest(prompt="count the sheep", scratch=tmp_path, keep=True))
        again = HarnessRequest(prompt="and now?", scratch=tmp_path, keep=True, resume=first.session_id)
        _, second = run(slug, home, tmp_path, again)

    assert isinstance(second, HarnessAnswer)
    assert (second.text, second.session_id) == ("Still three.", first.session_id)
    assert "count the sheep" in model.asked[-1].prompt
    assert "and now?" in model.asked[-1].prompt


@every_harness
def test_a_model_that_refuses_is_a_failure_with_its_reason(tmp_path: Path, slug: str) -> None:
    _, outcome, _ = played(slug, tmp_path, lines(Refuse(status=400, message="too many sheep")))

    assert isinstance(outcome, Failed)
    assert "too many sheep" in outcome.why


@every_harness
def test_a_harness_calls_a_tool_of_our_server(tmp_path: Path, slug: str) -> None:
    binary = installed(PROGRAMS[slug].command)
    tool = {"codex": "mcp__tally.list_rooms", "claude-code": "mcp__tally__list_rooms"}[slug]
    used = list[str]()

    def script(ask: Ask) -> Saying:
        if used or not ask.tools:
            return Say(text="No rooms.")
        # The first question may come before the server is there.
        use = Use(tool=tool, given={}) if tool in ask.tools else WAIT[slug]
        used.extend([tool] * (use.tool == tool))
        return use

    with scripted(script) as model:
        home = Home(tmp_path / "home", model)
        add = ["mcp", "add", *(["-s", "user"] if slug == "claude-code" else []), "tally", "--", *SERVER]
        subprocess.run([binary, *add], env=home.env, cwd=home.path, check=True, capture_output=True)
        _, outcome = run(slug, home, tmp_path, HarnessRequest(prompt="which rooms?", scratch=tmp_path))

    assert isinstance(outcome, HarnessAnswer)
    assert outcome.text == "No rooms."
    assert '"rooms":[]' in model.asked[-1].results[-1].replace(" ", "")
