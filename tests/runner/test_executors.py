"""Which executors a machine has, which one a job gets, and what each is given."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tallystick.capabilities.jobs.contract import ExecutorName
from tallystick.harnesses.headless.protocol import Sandbox
from tallystick.runner import executors
from tallystick.runner.executors import COMMAND, EXECUTORS, Executor, NoExecutor
from tallystick.runner.rules import ManagerWord, Prior, Surroundings
from tests.runner.samples import JOB, SLICE, entry


@pytest.fixture
def bin_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def program(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def here(*names: ExecutorName) -> dict[str, Executor]:
    return {name: Executor(name=name, binary=(name,)) for name in names}


def test_what_is_on_the_path_is_found(bin_dir: Path) -> None:
    claude, codex = program(bin_dir, "claude"), program(bin_dir, "codex")

    there = executors.executors_found({"PATH": str(bin_dir)}, {}, Sandbox.READ_ONLY)

    assert there == {
        "codex": Executor(name="codex", binary=(codex,), sandbox=Sandbox.READ_ONLY),
        "claude_code": Executor(name="claude_code", binary=(claude,), sandbox=Sandbox.READ_ONLY),
    }


def test_a_flag_goes_before_the_environment_which_goes_before_the_path(bin_dir: Path) -> None:
    program(bin_dir, "codex")
    ours, theirs = program(bin_dir, "our-codex"), program(bin_dir, "their-codex")
    environ = {"PATH": str(bin_dir), "TALLYSTICK_CODEX_BIN": theirs}

    by_variable = executors.executors_found(environ, {}, Sandbox.READ_ONLY)
    by_flag = executors.executors_found(environ, {"codex": ours}, Sandbox.READ_ONLY)

    assert (by_variable["codex"].binary, by_flag["codex"].binary) == ((theirs,), (ours,))


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"codex": "no-such"}, "no-such is no program that could be run as codex."),
        ({"command": "no-such -x"}, "The command 'no-such' is no program that could be run."),
        ({"command": "'open"}, 'The command "\'open" cannot be read: No closing quotation.'),
    ],
)
def test_a_program_that_was_named_and_is_not_there_is_refused(given_: dict[str, str], message: str) -> None:
    with pytest.raises(NoExecutor) as refusal:
        executors.executors_found({"PATH": "/nowhere"}, given_, Sandbox.READ_ONLY)

    assert refusal.value.message == message


def test_a_command_keeps_its_arguments(bin_dir: Path) -> None:
    path = program(bin_dir, "do-it")

    there = executors.executors_found({"PATH": str(bin_dir)}, {"command": "do-it --twice 'a b'"}, Sandbox.READ_ONLY)

    assert there[COMMAND].binary == (path, "--twice", "a b")


def test_a_machine_with_nothing_to_run_jobs_with_is_refused() -> None:
    with pytest.raises(NoExecutor):
        executors.executor_chosen({}, [])


@pytest.mark.parametrize("wanted", ["gemini", "emacs"])
def test_an_executor_that_is_asked_for_and_not_here_is_refused(wanted: str) -> None:
    with pytest.raises(NoExecutor):
        executors.executor_chosen(here("codex"), [wanted])


def test_only_those_asked_for_are_used() -> None:
    assert list(executors.executor_chosen(here("codex", "gemini"), ["gemini"])) == ["gemini"]


names = st.sampled_from([*EXECUTORS, "auto"])


def test_a_harness_is_given_a_prompt_a_schema_and_the_jobs_model(tmp_path: Path) -> None:
    job = replace(JOB, meta={"executor_model": "opus"}, profile="deep")
    executor = Executor(name="claude_code", binary=("claude",))

    start, _ = executor.start(job, SLICE, pack="", prior=Prior(), around=Surroundings(), scratch=tmp_path)

    assert start.stdin.startswith("=== RULES ===")
    assert "--model=opus" in start.argv
    assert start.argv[start.argv.index("--effort") + 1] == "high"
    assert '"CONTINUE"' in start.argv[start.argv.index("--json-schema") + 1]


def test_a_command_is_given_the_job_as_one_object(tmp_path: Path) -> None:
    job = replace(JOB, meta={"a": 1})
    word = ManagerWord(seq=3, ref="JOB-007@3", message="lambs too")
    around = Surroundings(task="the task", thread=[entry(4, "progress", "hurry")], words=[word])
    executor = Executor(name=COMMAND, binary=("do-it",))

    start, _ = executor.start(
        job, SLICE, pack="", prior=Prior(summary="one", refs=("CARD-001",)), around=around, scratch=tmp_path
    )

    assert start.argv == ("do-it",)
    assert start.stdin.endswith("}\n")
    assert json.loads(start.stdin) == {
        "room_id": "room-1",
        "job_id": "JOB-007",
        "claim_revision": 3,
        "title": "Count the sheep",
        "kind": "codex_cli",
        "priority": "MEDIUM",
        "prompt": "Count them twice.",
        "executor": "codex",
        "profile": "fast",
        "task_id": None,
        "anchor_id": None,
        "reclaimed": False,
        "began_ms_ago": 0,
        "meta": {"a": 1},
        "slice": {"number": 2, "runner_id": "r1", "seconds": 1800},
        "prior": {"summary": "one", "refs": ["CARD-001"]},
        "manager": [{"seq": 3, "ref": "JOB-007@3", "message": "lambs too", "refs": [], "new": True}],
        "artifacts": [],
        "task": "the task",
        "anchor": "",
        "thread": [{"seq": 4, "kind": "progress", "message": "hurry", "refs": []}],
    }


def test_a_slice_knows_its_job_and_none_of_the_runners_secrets() -> None:
    environ = {"PATH": "/bin", "TALLYSTICK_TOKEN": "secret", "TALLYSTICK_AGENT": "runner-1", "CLAUDECODE": "1"}
    environ |= {"TALLYSTICK_DATABASE_URL": "postgresql://a:secret@db/tally", "PGPASSWORD": "secret"}

    assert executors.environment(environ, JOB, "runner-1") == {
        "PATH": "/bin",
        "TALLYSTICK_ROOM": "room-1",
        "TALLYSTICK_JOB": "JOB-007",
        "TALLYSTICK_RUNNER": "runner-1",
        "TALLYSTICK_CLAIM_REVISION": "3",
    }
