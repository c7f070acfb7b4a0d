"""Where a job works: in the runner's folder, inside it, or in a worktree of a real git repository."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("cwd", ["..", "/", "nowhere", "src/a.py", 3, "src/../../"])
def test_a_job_cannot_leave_the_runners_folder(repository: Path, tmp_path: Path, cwd: object) -> None:
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

    assert worktrees.account(folder) == ""
    worktrees.tidy(folder)

    assert not folder.root.exists()
    assert git(repository, "branch", "--list", "tally/*") == ""


def test_a_worktree_with_work_in_it_stays_and_is_told(repository: Path, tmp_path: Path) -> None:
    folder = prepared(repository, tmp_path, worktree=True)
    (folder.root / "src/a.py").write_text("a = 2\n")
    git(folder.root, "commit", "-qam", "two")
    (folder.root / "new.py").write_text("")

    told = worktrees.account(folder)
    worktrees.tidy(folder)

    assert told == f"Worktree: {folder.root} on branch tally/job-007-room-1, 1 new commits, 1 uncommitted files."
    assert (folder.root / "new.py").exists()
    assert (repository / "src/a.py").read_text() == "a = 1\n"


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
