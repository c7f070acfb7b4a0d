"""The real Codex, Claude Code and Gemini CLI carry out jobs from claim to end, their models scripted on loopback."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.loopback.model import Model, scripted
from tests.loopback.programs import Home, installed
from tests.loopback.saying import Ask, Give, Saying, Script, Use, lines
from tests.runner.shift import Runner, Shift
from tests.waiting import until

pytestmark = [pytest.mark.npm, pytest.mark.slow, pytest.mark.timeout(300)]

PROGRAMS = {
    "codex": ("codex", "--codex-bin"),
    "claude_code": ("claude", "--claude-bin"),
    "gemini": ("gemini", "--gemini-bin"),
}
SHELL = {
    "codex": ("exec_command", "cmd"),
    "claude_code": ("Bash", "command"),
    "gemini": ("run_shell_command", "command"),
}
every_executor = pytest.mark.parametrize("executor", sorted(PROGRAMS))


@contextmanager
def at_work(
    shift: Shift, executor: str, script: Script, *args: str, tmp: Path | None = None
) -> Generator[tuple[Runner, Model]]:
    command, flag = PROGRAMS[executor]
    binary = installed(command)
    with scripted(script) as model:
        env = {**shift.env(), **Home(shift.folder / "home", model).env, **({"TMPDIR": str(tmp)} if tmp else {})}
        options = ("--executors", executor, flag, str(binary), *args)
        with shift.runner(None, *options, env=env) as runner:
            yield runner, model


def shell(executor: str, command: str) -> Use:
    tool, field = SHELL[executor]
    return Use(tool=tool, given={field: command})


def done(summary: str, *refs: str) -> Give:
    event = {"kind": "checkpoint", "message": "counted", "percent": 100, "refs": list(refs)}
    return Give(answer={"status": "DONE", "summary": summary, "refs": list(refs), "events": [event]})


@every_executor
def test_a_job_that_the_gate_refuses_is_continued_in_a_second_slice_and_done_with_proof(
    shift: Shift, executor: str
) -> None:
    def script(ask: Ask) -> Saying:
        if "=== PRIOR SLICES ===" not in ask.prompt:
            return done("I counted them, believe me")
        return shell(executor, "echo 3 > count.txt") if ask.turn == 0 else done("three sheep", "FILE: count.txt")

    job_id = shift.create(prompt="Count the sheep behind the hill.", executor=executor)
    with at_work(shift, executor, script) as (_, model):
        job = shift.ended(job_id)

    assert (job["status"], job["summary"], job["refs"]) == ("DONE", "three sheep", ["FILE: count.txt"])
    assert (shift.workspace / "count.txt").read_text() == "3\n"
    assert "Count the sheep behind the hill." in model.asked[0].prompt
    assert "=== SKILL PACK ===" in model.asked[0].prompt
    assert shift.told(job_id, "proof_gate") == ["runner: proof gate (slice 1): DONE without proof: no refs"]
    assert "DONE without proof" in model.asked[-1].prompt
    assert "I counted them, believe me" in model.asked[-1].prompt
    # Steps are told now and then, not each: whether this one was, depends on how long it took.
    assert [event["kind"] for event in shift.events(job_id) if event["kind"] != "progress"] == [
        *("created", "claimed", "slice", "checkpoint", "proof_gate", "slice", "checkpoint", "completed"),
    ]


@pytest.mark.parametrize("executor", ["claude_code", "codex"])
def test_the_exit_codes_that_a_harness_reports_become_evidence(shift: Shift, executor: str) -> None:
    shift.takes("evidence")
    refs = ["CMD: test -d . (exit 0)", "CMD: ls nowhere (exit 0)", "CMD: make check (exit 0)"]

    def script(ask: Ask) -> Saying:
        steps = (shell(executor, "test -d ."), shell(executor, "ls nowhere"))
        return steps[ask.turn] if ask.turn < len(steps) else done("all green", *refs)

    job_id = shift.create(executor=executor)
    with at_work(shift, executor, script):
        job = shift.ended(job_id)

    assert job["status"] == "DONE"
    evidence = shift.here("jobs.open", job=job_id)["evidence"]
    assert [(each["ref"], each["state"], each["exit_code"], each["proves"]) for each in evidence] == [
        (refs[0], "observed", 0, True),
        (refs[1], "failed", 2, False),
        (refs[2], "claimed", 0, False),
    ]


@every_executor
def test_a_job_is_canceled_in_the_middle(shift: Shift, executor: str) -> None:
    job_id = shift.create(executor=executor)
    mark = shift.folder / "mark"
    # Without Codex's sandbox, inside which a pid would mean something else.
    free = ("--sandbox", "full-access") if executor == "codex" else ()
    with at_work(shift, executor, lines(shell(executor, f"echo $$ > {mark}; sleep 600")), *free) as (runner, _):
        until(lambda: mark.exists() and mark.read_text().strip() != "")
        sleeper = int(mark.read_text())

        shift.here("jobs.cancel", job=job_id, force_running=True, reason="enough sheep")

        until(lambda: f"{job_id}: stopped" in runner.said)
        until(lambda: not _working(sleeper))
    assert shift.job(job_id)["status"] == "CANCELED"
    assert shift.events(job_id)[-1]["kind"] == "canceled"


def everything(ask: Ask) -> str:
    return "\n".join((ask.prompt, ask.told, *ask.results))


hooked = pytest.mark.parametrize("executor", ["claude_code", "codex"])


@hooked
def test_a_message_reaches_the_agent_inside_its_running_slice(shift: Shift, executor: str) -> None:
    """The model works on, one command after the other, until the manager's words are in what it reads."""
    mark = shift.folder / "mark"

    def script(ask: Ask) -> Saying:
        if "rename the table instead" in everything(ask):
            return done("renamed it", "LINK: https://example.org/renamed")
        mark.touch()
        return shell(executor, "true")

    job_id = shift.create(executor=executor)
    with at_work(shift, executor, script) as (_, model):
        until(mark.exists)
        word = shift.here("jobs.message", job=job_id, message="Stop: rename the table instead.")["event"]

        job = shift.ended(job_id)

    assert (job["status"], job["summary"], job["slices"]) == ("DONE", "renamed it", 1)
    assert job["message_state"] == "read"
    assert f"goes before the job's own text: {word['ref']}: Stop: rename the table instead." in everything(
        model.asked[-1]
    )
    assert shift.told(job_id, "delivered") == [f"runner: the agent was given {word['ref']}"]


@hooked
def test_an_agent_that_wants_to_stop_is_first_told_what_the_manager_said(shift: Shift, executor: str) -> None:
    """It never uses a tool, so only the end of its turn is a moment to tell it."""
    asked = threading.Event()

    def script(ask: Ask) -> Saying:
        if "rename the table instead" in everything(ask):
            return done("renamed it", "LINK: https://example.org/renamed")
        shift.here("jobs.message", job=job_id, message="Stop: rename the table instead.")
        # The runner hears of it in its own time; it has while the model still thinks.
        until(lambda: any(folder.glob("tally-runner-*/*/messages/waiting")))
        asked.set()
        return done("dropped it", "LINK: https://example.org/dropped")

    folder = shift.folder / "tmp"
    folder.mkdir()
    job_id = shift.create(executor=executor)
    with at_work(shift, executor, script, tmp=folder):
        job = shift.ended(job_id)

    assert asked.is_set()
    assert (job["summary"], job["slices"], job["message_state"]) == ("renamed it", 1, "read")


def _working(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
