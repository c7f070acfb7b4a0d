"""What git says about the repository we stand in, and which paths a commit or a push is about to change."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tallystick.harnesses.errors import NoRepository

_MERGED = "GITHEAD_"


def git(*args: str, folder: Path | None = None, may_fail: bool = False) -> str:
    """What a git command prints; its own complaint becomes ours."""
    try:
        done = subprocess.run(["git", *args], cwd=folder, capture_output=True, check=False)
    except FileNotFoundError:
        raise NoRepository("git is not installed.") from None
    if done.returncode and not may_fail:
        raise NoRepository(os.fsdecode(done.stderr).strip().removeprefix("fatal: ").capitalize() + ".")
    return "" if done.returncode else os.fsdecode(done.stdout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    top: Path
    """The top of this working tree, which may be one of several."""
    common: Path
    """What all its working trees share."""
    hooks: Path
    """Where git looks for hooks now."""
    superproject: Path | None
    """Of a submodule, the working tree that it belongs to."""

    @classmethod
    def here(cls) -> Repository:
        said = git(
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-common-dir",
            "--git-path",
            "hooks",
            "--show-superproject-working-tree",
        ).splitlines()
        above = Path(said[3]) if len(said) > 3 else None
        return cls(top=Path(said[0]), common=Path(said[1]), hooks=Path(said[2]), superproject=above)

    @property
    def own_hooks(self) -> Path:
        """Where git looks unless it was told to look elsewhere."""
        return self.common / "hooks"

    @property
    def main_tree(self) -> Path | None:
        """The first working tree, where this one is another."""
        main = self.common.parent if self.common.name == ".git" else None
        return main if main != self.top else None

    def hooks_path(self) -> tuple[str, str] | None:
        """`core.hooksPath` and where it is set: system, global, local or worktree."""
        said = git("config", "--show-scope", "--get", "core.hooksPath", may_fail=True).rstrip("\n")
        scope, _, value = said.partition("\t")
        return (scope, value) if value else None

    def set_hooks_path(self, scope: str, value: str) -> None:
        git("config", f"--{scope}", "core.hooksPath", value)

    def restore_hooks_path(self, scope: str, value: str) -> None:
        if scope in {"local", "worktree"}:
            self.set_hooks_path(scope, value)
        else:
            git("config", "--local", "--unset", "core.hooksPath")


def committed() -> list[str]:
    """The paths that the commit being made changes, both names of what was renamed.

    A merge changes only what is in none of its parents: the rest was committed, and guarded, where it was made.
    """
    changed = _names("diff", "--cached", "--name-only", "-z", "--no-renames")
    for parent in _merged():
        other = set(_names("diff", "--cached", "--name-only", "-z", "--no-renames", parent))
        changed = [path for path in changed if path in other]
    return changed


def _merged() -> list[str]:
    try:
        return Path(git("rev-parse", "--git-path", "MERGE_HEAD").strip()).read_text("ascii").split()
    except OSError:
        # Before the commit of a merge without conflicts git says it in the environment only.
        return [name.removeprefix(_MERGED) for name in os.environ if name.startswith(_MERGED)]


def pushed(remote: str, lines: Iterable[str]) -> list[str]:
    """The paths that the commits of a push change, by what git tells its hook; those the remote has are left out."""
    found: dict[str, None] = {}
    for line in lines:
        words = line.split()
        if len(words) != 4 or set(words[1]) == {"0"}:
            continue
        _, local, _, there = words
        # What the remote has may not have been fetched; then only what any of its branches had is known.
        known = git("rev-parse", "--verify", "--quiet", f"{there}^{{commit}}", may_fail=True)
        there_already = [f"^{there}"] if known else []
        log = ("log", "--format=", "--name-only", "-z", "--no-renames", "-c", local, *there_already)
        found.update(dict.fromkeys(_names(*log, "--not", f"--remotes={remote}")))
    return list(found)


def _names(*args: str) -> list[str]:
    return [name for name in git(*args).replace("\n", "\0").split("\0") if name]
