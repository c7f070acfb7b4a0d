"""The real Codex, Claude Code and Gemini CLI carry out jobs from claim to end, their models scripted on loopback."""

from __future__ import annotations

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
def at_work(shift: Shift, executor: str, script: Script, *args: str) -> Generator[tuple[Runner, Model]]:
    command, flag = PROGRAMS[executor]
    binary = installed(command)
    with scripted(script) as model:
        env = {**shift.env(), **Home(shift.folder / "home", model).env}
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


def _working(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
