"""A runner brings evidence: files as they are where the job worked, commands it saw end, checks it ran itself."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.shift import TALLY, Row, Shift
from tests.runner.test_worktrees import git

THREE = hashlib.sha256(b"3").hexdigest()
WRITE = "open('new.txt', 'w').write('3'); end('DONE', 'counted', 'FILE: new.txt')"


@pytest.fixture
def strict(shift: Shift) -> Shift:
    """A room in which a claim proves nothing."""
    shift.takes("evidence")
    return shift


@pytest.fixture
def repository(strict: Shift) -> Shift:
    (strict.workspace / "shared.txt").write_text("one\n")
    (strict.workspace / "sub").mkdir()
    (strict.workspace / "sub/kept.txt").write_text("kept\n")
    git(strict.workspace, "init", "-q", "-b", "main")
    git(strict.workspace, "add", ".")
    git(strict.workspace, "commit", "-qm", "begin")
    return strict


def evidence(shift: Shift, job_id: str) -> list[Row]:
    found: list[Row] = shift.here("jobs.open", job=job_id)["evidence"]
    return found


@pytest.mark.parametrize(
    ("meta", "args", "ref", "elsewhere"),
    [
        ({}, (), "FILE: new.txt", False),
        ({"cwd": "sub"}, (), "FILE: sub/new.txt", False),
        ({}, ("--cwd", "sub"), "FILE: sub/new.txt", False),
        ({}, ("--worktree",), "FILE: new.txt", True),
        ({"cwd": "sub", "worktree": True}, (), "FILE: sub/new.txt", True),
    ],
)
def test_a_file_is_judged_where_the_job_worked_and_told_by_its_path_from_the_root(
    repository: Shift, meta: dict[str, object], args: tuple[str, ...], ref: str, elsewhere: bool
) -> None:
    job_id = repository.create(meta=meta)
    repository.once(WRITE, *args)

    assert repository.job(job_id)["refs"] == [ref]
    measured: Row = {"ref": ref, "kind": "file", "state": "found", "sha256": THREE, "exit_code": None, "proves": True}
    away: Row = {"elsewhere": True} if elsewhere else {}
    assert evidence(repository, job_id) == [{**measured, "why": "measured by r1", **away}]


def test_a_file_that_was_changed_in_a_worktree_is_not_taken_for_the_one_in_the_checkout(repository: Shift) -> None:
    job_id = repository.create()
    repository.once("open('shared.txt', 'w').write('3'); end('DONE', 'x', 'FILE: shared.txt')", "--worktree")

    assert (repository.workspace / "shared.txt").read_text() == "one\n"
    assert [(each["sha256"], each["state"]) for each in evidence(repository, job_id)] == [(THREE, "found")]


def test_a_file_that_nobody_touched_proves_nothing_in_a_worktree_either(repository: Shift) -> None:
    """All files of a new worktree are young."""
    job_id = repository.create()
    repository.once("end('DONE', 'nothing to do', 'FILE: shared.txt')", "--worktree", "--max-failures", "2")

    assert repository.job(job_id)["status"] == "FAILED"
    (gate,) = repository.told(job_id, "proof_gate")
    assert "FILE: shared.txt: found, untouched since the job began" in gate


def test_a_runner_elsewhere_with_a_token_proves_what_the_hub_cannot_see(strict: Shift) -> None:
    job_id = strict.create()
    issue = [TALLY, "token", "issue", "--room", strict.room_id, "--as", "far"]
    token = subprocess.run(issue, env=strict.env(), capture_output=True, text=True, check=True).stdout.strip()
    url: str = json.loads((strict.settings.data_dir / "hub.json").read_text())["url"]
    elsewhere = strict.folder / "elsewhere"
    elsewhere.mkdir()
    env = {**strict.env(), "TALLYSTICK_DATA_DIR": str(strict.folder / "empty"), "TALLYSTICK_TOKEN": token}

    strict.once(WRITE, "--hub", url, "--cwd", str(elsewhere), env=env)

    assert (elsewhere / "new.txt").read_text() == "3"
    assert [(each["state"], each["sha256"], each["elsewhere"]) for each in evidence(strict, job_id)] == [
        ("found", THREE, True)
    ]
    assert strict.events(job_id)[-1]["by"] == "far"


@pytest.mark.parametrize(
    ("summary", "refs"),
    [
        ("docker is not available here so I could not run anything", []),
        ("- make the parser linear\\n- could not run the tests", []),
        ("all tests pass", ["CMD: pytest -q (exit 0)"]),
        ("done", ["FILE: old.txt"]),
    ],
)
def test_a_done_with_prose_a_claim_or_an_untouched_file_is_sent_back(
    strict: Shift, summary: str, refs: list[str]
) -> None:
    old = strict.workspace / "old.txt"
    old.write_text("untouched")
    os.utime(old, (1_000_000_000, 1_000_000_000))
    job_id = strict.create()
    strict.once(f"end('DONE', '{summary}', *{refs})")

    job = strict.job(job_id)
    assert job["status"] == "FAILED"
    assert job["summary"].startswith("gave up: DONE 3 times without proof")
    assert len(strict.told(job_id, "proof_gate")) == 2


def test_a_jobs_checks_are_run_after_the_work_where_it_was_done(strict: Shift) -> None:
    (strict.workspace / "sub").mkdir()
    job_id = strict.create(checks=["test -s new.txt", "grep -q 3 new.txt"], meta={"cwd": "sub"})
    strict.once("open('new.txt', 'w').write(str(job['slice']['number'] + 1)); end('DONE', 'counted')")

    assert strict.job(job_id)["status"] == "DONE"
    (gate,) = strict.told(job_id, "proof_gate")
    assert "CMD: grep -q 3 new.txt: failed, it was seen to end with 1" in gate
    assert [(each["ref"], each["state"], each["exit_code"]) for each in evidence(strict, job_id)] == [
        ("CMD: test -s new.txt", "observed", 0),
        ("CMD: grep -q 3 new.txt", "observed", 0),
    ]


def test_what_a_harness_was_seen_to_run_is_evidence_and_what_it_only_says_is_not(strict: Shift) -> None:
    events = [
        {"type": "thread.started", "thread_id": "t"},
        _ran("/bin/bash -lc 'pytest -q'", 1),
        _ran("/bin/bash -lc 'pytest -q'", 0),
        _ran("/bin/bash -lc 'make lint'", 2),
    ]
    refs = ["CMD: pytest -q (exit 0)", "CMD: make lint (exit 0)", "CMD: make docs (exit 0)"]
    answer = {"status": "DONE", "summary": "all green", "refs": refs, "events": []}
    said = {"type": "item.completed", "item": {"type": "agent_message", "text": json.dumps(answer)}}
    harness = _program(strict, [*events, said, {"type": "turn.completed"}])

    job_id = strict.create(executor="codex")
    with strict.runner(None, "--once", "--executors", "codex", "--codex-bin", str(harness)) as runner:
        assert runner.finished() == 0, runner.said

    assert [(each["ref"], each["state"], each["exit_code"], each["proves"]) for each in evidence(strict, job_id)] == [
        ("CMD: pytest -q (exit 0)", "observed", 0, True),
        ("CMD: make lint (exit 0)", "failed", 2, False),
        ("CMD: make docs (exit 0)", "claimed", 0, False),
    ]


def _ran(command: str, exit_code: int) -> Row:
    return {"type": "item.completed", "item": {"type": "command_execution", "command": command, "exit_code": exit_code}}


def _program(shift: Shift, events: list[Row]) -> Path:
    file = shift.folder / "harness"
    lines = "\n".join(json.dumps(event) for event in events)
    file.write_text(f"#!{sys.executable} -S\nimport sys\nsys.stdin.read()\nprint({lines!r})\n")
    file.chmod(0o755)
    return file


def test_two_jobs_that_change_one_file_in_worktrees_show_their_conflict_before_anybody_merges(
    repository: Shift,
) -> None:
    one, two, other = (repository.create(title=f"number {number}") for number in (1, 2, 3))
    repository.once(
        """
        if job["job_id"] == "JOB-003":
            open("other.txt", "w").write("alone")
            end("DONE", "other.txt", "FILE: other.txt")
        else:
            open("shared.txt", "w").write(job["job_id"])
            end("DONE", "shared.txt", "FILE: shared.txt")
        """,
        "--worktree",
    )

    branches = [repository.here("jobs.open", job=job_id)["branch"] for job_id in (one, two, other)]
    first, second, third = (branch["name"] for branch in branches)
    assert [branch["conflicts"] for branch in branches] == [
        [],
        [{"branch": first, "paths": ["shared.txt"]}],
        [],
    ]
    report = _tally(repository, "tasks", "macro", "merge_report", *("--jobs", one, "--jobs", two, "--jobs", other))
    body: str = report["card"]["body"]
    assert body.partition("## Branches\n")[2].partition("\n\n")[0].splitlines() == [
        f"- JOB-001 {first} from main: 1 files, +1 -1, 1 commits",
        f"- JOB-002 {second} from main: 1 files, +1 -1, 1 commits",
        f"  conflicts with {first} in shared.txt",
        f"- JOB-003 {third} from main: 1 files, +1 -0, 1 commits",
    ]
    assert body.partition("## Open risks\n")[2].partition("\n\n")[0] == (
        f"- JOB-002 {second} conflicts with {first} in shared.txt"
    )
    assert _tally(repository, "open", two)["value"]["branch"] == branches[1]
    assert (repository.workspace / "shared.txt").read_text() == "one\n"
    git(repository.workspace, "merge", "-q", first)
    assert (repository.workspace / "shared.txt").read_text() == one


def _tally(shift: Shift, *words: str) -> Row:
    argv = [TALLY, "--json", "--as", "boss", *words]
    done = subprocess.run(argv, cwd=shift.workspace, env=shift.env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answer: Row = json.loads(done.stdout)
    data: Row = answer["data"]
    return data
