"""Where a job works: the runner's folder, one inside it that the job names, or a git worktree of its own."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tallystick.runner.model import ClaimedJob


class UnusableFolder(Exception):
    """The job cannot work where it wants to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFolder:
    path: Path
    root: Path
    """What FILE: receipts are relative to."""
    branch: str = ""
    """The worktree's own branch, if it has one."""
    base: str = ""
    repository: Path | None = None


def prepare(job: ClaimedJob, root: Path, *, worktrees: Path, always: bool) -> JobFolder:
    """The folder for a job; a worktree that an earlier claim began is gone on with."""
    inside = _inside(job, root)
    if not (always or job.meta.get("worktree") is True):
        return JobFolder(path=inside, root=root)
    repository = Path(_git(root, "rev-parse", "--show-toplevel"))
    branch = f"tally/{job.job_id.lower()}-{job.room_id[-8:]}"
    tree = worktrees / job.room_id / job.job_id
    if not (tree / ".git").exists():
        tree.parent.mkdir(parents=True, exist_ok=True)
        _git(repository, "worktree", "prune")
        known = bool(_git(repository, "branch", "--list", branch))
        _git(repository, "worktree", "add", str(tree), *((branch,) if known else ("-b", branch)))
    base = _git(repository, "merge-base", "HEAD", branch)
    return JobFolder(
        path=tree / inside.relative_to(repository) if inside.is_relative_to(repository) else tree,
        root=tree,
        branch=branch,
        base=base,
        repository=repository,
    )


def account(folder: JobFolder) -> str:
    """Where a worktree is and what is new in it; empty when there is nothing to tell."""
    if folder.repository is None:
        return ""
    commits = int(_git(folder.root, "rev-list", "--count", f"{folder.base}..HEAD"))
    changed = len(_git(folder.root, "status", "--porcelain").splitlines())
    if not commits and not changed:
        return ""
    return f"Worktree: {folder.root} on branch {folder.branch}, {commits} new commits, {changed} uncommitted files."


def tidy(folder: JobFolder) -> None:
    """Remove a worktree in which there is nothing new; any other stays, for whoever wants its work."""
    if folder.repository is not None and not account(folder):
        _git(folder.repository, "worktree", "remove", "--force", str(folder.root))
        _git(folder.repository, "branch", "-D", folder.branch)


def _inside(job: ClaimedJob, root: Path) -> Path:
    wanted = job.meta.get("cwd")
    if wanted is None:
        return root
    if not isinstance(wanted, str):
        raise UnusableFolder("meta.cwd is not a text")
    path = (root / wanted).resolve()
    if not path.is_relative_to(root.resolve()):
        raise UnusableFolder(f"meta.cwd {wanted!r} is outside the runner's folder")
    if not path.is_dir():
        raise UnusableFolder(f"meta.cwd {wanted!r} is no folder here")
    return path


def _git(where: Path, *args: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(where), *args], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise UnusableFolder("a worktree was asked for and git is not installed") from None
    except subprocess.CalledProcessError as wrong:
        said = " ".join(str(wrong.stderr).split())
        raise UnusableFolder(f"git {args[0]} failed: {said[:200]}") from None
    return done.stdout.strip()
