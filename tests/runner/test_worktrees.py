"""Where a job works: in the runner's folder, inside it, or in a worktree of a real git repository."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tallystick.capabilities.jobs.runners_contract import BranchAsk
from tallystick.runner import worktrees
from tallystick.runner.worktrees import JobFolder, UnusableFolder
from tests.runner.samples import JOB

WANTS = replace(JOB, meta={"worktree": True})


def git(where: Path, *args: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(where), *identity, *args], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = (tmp_path / "repo").resolve()
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("a = 1\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "begin")
    return root


def prepared(root: Path, tmp_path: Path, **meta: object) -> JobFolder:
    return worktrees.prepare(replace(JOB, meta=meta), root, worktrees=tmp_path / "trees", always=False)


def test_a_job_works_in_the_runners_folder_or_in_one_inside_it(repository: Path, tmp_path: Path) -> None:
    assert prepared(repository, tmp_path) == JobFolder(path=repository, root=repository)
    assert prepared(repository, tmp_path, cwd="src") == JobFolder(path=repository / "src", root=repository)


@pytest.mark.parametrize("cwd", ["..", "/", "nowhere", "src/a.py", 3, "src/../../", "around", "a\0b", "x" * 300])
def test_a_job_cannot_leave_the_runners_folder(repository: Path, tmp_path: Path, cwd: object) -> None:
    (repository / "around").symlink_to("around")
    with pytest.raises(UnusableFolder):
        prepared(repository, tmp_path, cwd=cwd)


def test_a_link_out_of_the_runners_folder_leads_nowhere(repository: Path, tmp_path: Path) -> None:
    (repository / "out").symlink_to(tmp_path)

    with pytest.raises(UnusableFolder):
        prepared(repository, tmp_path, cwd="out")


def test_a_job_that_asks_for_it_gets_a_worktree_on_a_branch_of_its_own(repository: Path, tmp_path: Path) -> None:
    folder = prepared(repository, tmp_path, worktree=True, cwd="src")

    assert folder.path == tmp_path / "trees/room-1/JOB-007/src"
    assert (folder.path / "a.py").read_text() == "a = 1\n"
    assert git(folder.root, "branch", "--show-current") == folder.branch == "tally/job-007-room-1"
    assert git(repository, "branch", "--show-current") == "main"


def test_a_worktree_with_nothing_new_is_gone_after_the_job(repository: Path, tmp_path: Path) -> None:
    folder = prepared(repository, tmp_path, worktree=True)

    assert worktrees.settle(folder, "nothing") is None
    worktrees.tidy(folder)

    assert not folder.root.exists()
    assert git(repository, "branch", "--list", "tally/*") == ""


def test_what_a_job_left_is_committed_on_its_branch_which_is_named_with_its_size(
    repository: Path, tmp_path: Path
) -> None:
    folder = prepared(repository, tmp_path, worktree=True)
    (folder.root / "src/a.py").write_text("a = 2\nb = 3\n")
    git(folder.root, "commit", "-qam", "two")
    (folder.root / "new.py").write_text("c = 4\n")

    branch = worktrees.settle(folder, "JOB-007: Count the sheep")

    assert branch is not None
    assert branch == BranchAsk(
        name="tally/job-007-room-1",
        base="main",
        commit=git(repository, "rev-parse", "tally/job-007-room-1"),
        commits=2,
        files=2,
        insertions=3,
        deletions=1,
    )
    assert git(repository, "log", "-1", "--format=%s", "tally/job-007-room-1") == "JOB-007: Count the sheep"
    told = f"Branch tally/job-007-room-1 in {folder.root}: 2 files, +3 -1, 2 commits."
    assert worktrees.told(folder, branch) == told
    assert (repository / "src/a.py").read_text() == "a = 1\n"


def test_work_that_the_repositorys_own_hook_refuses_stays_uncommitted_and_is_told(
    repository: Path, tmp_path: Path
) -> None:
    hook = repository / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    folder = prepared(repository, tmp_path, worktree=True)
    (folder.root / "new.py").write_text("c = 4\n")

    branch = worktrees.settle(folder, "refused")

    assert branch is not None
    assert (branch.commits, branch.files, branch.insertions, branch.uncommitted) == (0, 1, 1, 1)
    assert worktrees.told(folder, branch).endswith("1 files, +1 -0, 0 commits, 1 uncommitted files.")


def test_a_branch_is_tried_against_its_base_and_against_all_work_of_the_room_that_is_not_merged(
    repository: Path, tmp_path: Path
) -> None:
    def of(job_id: str, text: str) -> JobFolder:
        job = replace(JOB, job_id=job_id, meta={"worktree": True})
        folder = worktrees.prepare(job, repository, worktrees=tmp_path / "trees", always=False)
        (folder.root / "src/a.py").write_text(text)
        return folder

    running, ended, agreeing, own = (
        of(f"JOB-00{number}", text) for number, text in enumerate(["a = 2\n", "a = 3\n", "a = 5\n", "a = 5\n"])
    )
    git(ended.root, "commit", "-qam", "three")
    git(repository, "worktree", "remove", "--force", str(ended.root))
    (repository / "src/a.py").write_text("a = 6\n")
    git(repository, "commit", "-qam", "meanwhile")
    merged = of("JOB-009", "a = 6\n")
    assert worktrees.settle(merged, "as it is") is None

    branch = worktrees.settle(own, "five")

    assert branch is not None
    assert [(each.branch, each.paths) for each in branch.conflicts] == [
        ("main", ["src/a.py"]),
        (running.branch, ["src/a.py"]),
        (ended.branch, ["src/a.py"]),
    ]
    assert git(running.root, "status", "--porcelain") == "M src/a.py"
    assert git(agreeing.root, "status", "--porcelain") == "M src/a.py"


def test_a_worktree_of_another_job_that_git_cannot_read_whole_hides_no_branch(repository: Path, tmp_path: Path) -> None:
    def of(job_id: str, text: str) -> JobFolder:
        job = replace(JOB, job_id=job_id, meta={"worktree": True})
        folder = worktrees.prepare(job, repository, worktrees=tmp_path / "trees", always=False)
        (folder.root / "src/a.py").write_text(text)
        return folder

    other, own = of("JOB-001", "a = 2\n"), of("JOB-002", "a = 3\n")
    git(other.root, "commit", "-qam", "two")
    # A repository without a commit, as an agent's test leaves one: git refuses to add it.
    git(other.root, "init", "-q", "fixture")

    branch = worktrees.settle(own, "three")

    assert branch is not None
    assert [(each.branch, each.paths) for each in branch.conflicts] == [(other.branch, ["src/a.py"])]


def test_another_claim_goes_on_in_the_same_worktree(repository: Path, tmp_path: Path) -> None:
    first = prepared(repository, tmp_path, worktree=True)
    (first.root / "new.py").write_text("half")

    second = prepared(repository, tmp_path, worktree=True)

    assert second == first
    assert (second.root / "new.py").read_text() == "half"


def test_a_worktree_that_somebody_deleted_is_made_anew_from_its_branch(repository: Path, tmp_path: Path) -> None:
    first = prepared(repository, tmp_path, worktree=True)
    (first.root / "src/a.py").write_text("a = 2\n")
    git(first.root, "commit", "-qam", "two")
    subprocess.run(["rm", "-r", str(first.root)], check=True)

    second = prepared(repository, tmp_path, worktree=True)

    assert (second.root / "src/a.py").read_text() == "a = 2\n"


def test_a_worktree_outside_a_repository_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UnusableFolder, match=r"git rev-parse failed: fatal: not a git repository"):
        prepared(tmp_path, tmp_path, worktree=True)
