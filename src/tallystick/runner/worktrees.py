"""Where a job works: the runner's folder, one inside it that the job names, or a git worktree of its own.

A worktree's work ends up on its branch. Before anybody merges it, it is tried in memory against the branch it came from
and against the work of every other job of the room, finished or not.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tallystick.capabilities.jobs.runners_contract import BranchAsk, ConflictAsk
from tallystick.runner.rules import ClaimedJob

PATHS_LIMIT = 100
"""How many conflicting files of one branch are named."""
_NOBODY = ("-c", "user.name=tally runner", "-c", "user.email=runner@tallystick.invalid")


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
    """The commit that it began from."""
    onto: str = ""
    """The branch that was checked out there then."""
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
    onto = _git(repository, "rev-parse", "--abbrev-ref", "HEAD")
    return JobFolder(
        path=tree / inside.relative_to(repository) if inside.is_relative_to(repository) else tree,
        root=tree,
        branch=branch,
        base=base,
        onto=base if onto == "HEAD" else onto,
        repository=repository,
    )


def settle(folder: JobFolder, message: str) -> BranchAsk | None:
    """Commit what the job left, and say what its branch holds and conflicts with; None when nothing is new."""
    if folder.repository is None:
        return None
    if _changed(folder.root):
        _commit(folder.root, message)
    commit = _snapshot(folder.root)
    commits, uncommitted = int(_git(folder.root, "rev-list", "--count", f"{folder.base}..HEAD")), _changed(folder.root)
    if not commits and not uncommitted:
        return None
    files, insertions, deletions = _size(folder.root, folder.base, commit)
    return BranchAsk(
        name=folder.branch,
        base=folder.onto,
        commit=commit,
        commits=commits,
        files=files,
        insertions=insertions,
        deletions=deletions,
        uncommitted=uncommitted,
        conflicts=list(_conflicts(folder, folder.repository, commit))[:PATHS_LIMIT],
    )


def untouched(folder: JobFolder, file: Path) -> bool:
    """Whether a file of a worktree is what it was in the commit that the work began from."""
    if folder.repository is None:
        return False
    path = file.relative_to(folder.root.resolve()).as_posix()
    before = _done(folder.root, "rev-parse", "--verify", "-q", f"{folder.base}:{path}")
    return not before.returncode and before.stdout == _done(folder.root, "hash-object", "--", path).stdout


def told(folder: JobFolder, branch: BranchAsk) -> str:
    """The same in words, for the end of a summary."""
    left = f", {branch.uncommitted} uncommitted files" if branch.uncommitted else ""
    size = f"{branch.files} files, +{branch.insertions} -{branch.deletions}, {branch.commits} commits{left}"
    clashes = "".join(f"\nConflicts with {each.branch} in {', '.join(each.paths[:5])}." for each in branch.conflicts)
    return f"Branch {branch.name} in {folder.root}: {size}.{clashes}"


def tidy(folder: JobFolder) -> None:
    """Remove a worktree in which there is nothing new; any other stays, for whoever wants its work."""
    if folder.repository is not None:
        _git(folder.repository, "worktree", "remove", "--force", str(folder.root))
        _git(folder.repository, "branch", "-D", folder.branch)


def _changed(tree: Path) -> int:
    return len(_git(tree, "status", "--porcelain").splitlines())


def _commit(tree: Path, message: str) -> None:
    """The repository's own hooks may refuse it; then the work stays uncommitted, which is told."""
    _git(tree, "add", "-A")
    known = _done(tree, "config", "user.email").stdout.strip()
    _done(tree, *(() if known else _NOBODY), "commit", "-q", "-m", message)


def _snapshot(tree: Path) -> str:
    """A commit of all that is in a worktree, also what is not committed; the worktree itself is left alone."""
    head = _git(tree, "rev-parse", "HEAD")
    if not _changed(tree):
        return head
    with tempfile.TemporaryDirectory(prefix="tally-index-") as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        _git(tree, "read-tree", "HEAD", env=index)
        _git(tree, "add", "-A", env=index)
        whole = _git(tree, "write-tree", env=index)
    return _git(tree, *_NOBODY, "commit-tree", whole, "-p", head, "-m", "work in progress")


def _size(tree: Path, base: str, commit: str) -> tuple[int, int, int]:
    """How many files differ, how many lines are new and how many gone; of a binary file no lines are counted."""
    rows = [line.split("\t") for line in _git(tree, "diff", "--numstat", base, commit).splitlines()]
    added, gone = (sum(int(row[side]) for row in rows if row[side].isdigit()) for side in (0, 1))
    return len(rows), added, gone


def _conflicts(folder: JobFolder, repository: Path, commit: str) -> Iterator[ConflictAsk]:
    onto = _git(repository, "rev-parse", folder.onto)
    others = {folder.onto: onto, **_live(folder, repository)}
    for branch, tip in others.items():
        if paths := _clash(repository, commit, tip):
            yield ConflictAsk(branch=branch, paths=paths[:PATHS_LIMIT])


def _live(folder: JobFolder, repository: Path) -> dict[str, str]:
    """The other jobs of the room that have work which is not merged yet: each branch and the newest of its work."""
    room = folder.branch.rpartition("-")[2]
    names = _git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/tally/").splitlines()
    trees = _worktrees(repository)
    tips = dict[str, str]()
    for name in names:
        if name == folder.branch or not name.endswith(f"-{room}"):
            continue
        tip = _work(repository, name, trees.get(name))
        if _done(repository, "merge-base", "--is-ancestor", tip, folder.onto).returncode:
            tips[name] = tip
    return tips


def _work(repository: Path, branch: str, tree: Path | None) -> str:
    """The newest work on another job's branch, committed or not; what stands in its worktree may be beyond git."""
    with suppress(UnusableFolder):
        if tree:
            return _snapshot(tree)
    return _git(repository, "rev-parse", branch)


def _worktrees(repository: Path) -> Mapping[str, Path]:
    """The folder in which each branch is checked out."""
    found, where = dict[str, Path](), Path()
    for line in _git(repository, "worktree", "list", "--porcelain").splitlines():
        word, _, rest = line.partition(" ")
        if word == "worktree":
            where = Path(rest)
        elif word == "branch" and where.is_dir():
            found[rest.removeprefix("refs/heads/")] = where
    return found


def _clash(repository: Path, one: str, other: str) -> list[str]:
    """The files in which two commits cannot be merged; nothing is checked out for it."""
    done = _done(repository, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", one, other)
    if done.returncode not in {0, 1}:
        raise UnusableFolder(f"git merge-tree failed: {' '.join(done.stderr.split())[:200]}")
    return sorted(filter(None, done.stdout.split("\0")[1:])) if done.returncode else []


def _inside(job: ClaimedJob, root: Path) -> Path:
    wanted = job.meta.get("cwd")
    if wanted is None:
        return root
    if not isinstance(wanted, str):
        raise UnusableFolder("meta.cwd is not a text")
    try:
        path = (root / wanted).resolve()
        there = path.is_dir()
    except (OSError, ValueError, RuntimeError) as wrong:
        # Too long, with a NUL in it, or a link that leads to itself.
        raise UnusableFolder(f"meta.cwd {wanted!r} leads nowhere: {wrong}") from None
    if not path.is_relative_to(root.resolve()):
        raise UnusableFolder(f"meta.cwd {wanted!r} is outside the runner's folder")
    if not there:
        raise UnusableFolder(f"meta.cwd {wanted!r} is no folder here")
    return path


def _git(where: Path, *args: str, env: Mapping[str, str] | None = None) -> str:
    done = _done(where, *args, env=env)
    if done.returncode:
        command = next(arg for arg in args if not arg.startswith("-") and "=" not in arg)
        raise UnusableFolder(f"git {command} failed: {' '.join(done.stderr.split())[:200]}")
    return done.stdout.strip()


def _done(where: Path, *args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(where), *args],
            capture_output=True,
            text=True,
            check=False,
            # Else a mere look at the worktree of a job that is at work may hold the lock which its agent's git needs.
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", **(env or {})},
        )
    except FileNotFoundError:
        raise UnusableFolder("a worktree was asked for and git is not installed") from None
