"""The guard's git hooks, and what git says about the repository: which paths a commit or a push is about to change.

The hooks are put in before whatever was there, which still runs first, and taken out without a trace. Where git looks
into its own `hooks` folder, an existing hook is set aside by a rename. Where `core.hooksPath` points elsewhere (often
at files that are tracked, generated or shared) nothing there is touched: git is pointed at a folder of ours whose
hooks call those.

The other checkouts of a repository, its worktrees and the one they were made from, are read off git's own files.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tallystick.harnesses.errors import GuardInTheWay, NoRepository

_MERGED = "GITHEAD_"

POINTER = "gitdir: "
AT_MOST = 20


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


GUARDED = ("pre-commit", "pre-merge-commit", "pre-push")
FORWARDED = (
    *GUARDED,
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-merge",
    "post-rewrite",
    "pre-rebase",
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
)
MARK = "# Tallystick guard: `tally guard uninstall` takes it out again."
ASIDE = ".before-tally"
FOLDER = "tallystick-hooks"
PREVIOUS = "previous"
REFUSED = 10
"""How `tally guard check HOOK` says no: by a code that no crash has."""

_CHAIN = """\
#!/bin/sh
{mark}
before={before}
case $before in /*|./*) ;; *) before=./$before ;; esac
{run}"""
_RUN = '[ ! -x "$before" ] || "$before" "$@" || exit $?\n'
_RUN_WITH_INPUT = """\
input=$(cat; echo .)
input=${input%.}
[ ! -x "$before" ] || printf '%s' "$input" | "$before" "$@" || exit $?
"""
_CHECK = """\
tally={tally}
[ -x "$tally" ] || tally=$(command -v tally)
{feed}"${{tally:-tally}}" guard check {name} "$@"
code=$?
[ $code -ne {refused} ] || exit 1
[ $code -eq 0 ] || echo "Tallystick guard failed (exit $code): this was NOT checked. Run: tally doctor" >&2
exit 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """What happened to one hook."""

    path: Path
    action: str
    chained: str = ""
    """What runs before it."""


def install(repository: Repository, tally: str) -> list[Hook]:
    elsewhere = repository.hooks_path()
    ours = repository.common / FOLDER
    if elsewhere is not None:
        scope, value = elsewhere
        if value != str(ours):
            ours.mkdir(exist_ok=True)
            (ours / PREVIOUS).write_text(f"{scope}\n{value}\n", "utf-8")
        value = Path(_previous(ours)[1]).expanduser()
        done = [_written(ours / name, name, f"{value}/{name}", tally) for name in FORWARDED]
        repository.set_hooks_path(scope if scope in {"local", "worktree"} else "local", str(ours))
        return done
    repository.hooks.mkdir(parents=True, exist_ok=True)
    return [_in_place(repository.hooks / name, tally) for name in GUARDED]


def _in_place(path: Path, tally: str) -> Hook:
    aside = path.with_name(path.name + ASIDE)
    if (path.exists() or path.is_symlink()) and not is_ours(path):
        if aside.exists() or aside.is_symlink():
            raise GuardInTheWay(f"{aside} is there already, and {path} is not ours.", path=str(path))
        path.rename(aside)
    return _written(path, path.name, str(aside), tally, shown=aside.exists())


def _written(path: Path, name: str, before: str, tally: str, *, shown: bool = True) -> Hook:
    text = _script(name, before, tally)
    old = path.read_text("utf-8") if path.exists() else None
    if old != text:
        path.write_text(text, "utf-8")
    path.chmod(0o755)
    action = "unchanged" if old == text else "written" if old is None else "renewed"
    return Hook(path=path, action=action, chained=before if shown else "")


def _script(name: str, before: str, tally: str) -> str:
    reads = name == "pre-push"
    if name not in GUARDED:
        return _CHAIN.format(mark=MARK, before=shlex.quote(before), run='[ ! -x "$before" ] || exec "$before" "$@"\n')
    feed = "printf '%s' \"$input\" | " if reads else ""
    check = _CHECK.format(tally=shlex.quote(tally), feed=feed, name=name, refused=REFUSED)
    run = (_RUN_WITH_INPUT if reads else _RUN) + check
    return _CHAIN.format(mark=MARK, before=shlex.quote(before), run=run)


def uninstall(repository: Repository) -> list[Hook]:
    ours = repository.common / FOLDER
    done = [each for name in GUARDED if (each := _taken_out(repository.own_hooks / name))]
    if ours.is_dir():
        scope, value = _previous(ours)
        now = repository.hooks_path()
        if now and now[1] == str(ours):
            repository.restore_hooks_path(scope, value)
        shutil.rmtree(ours)
        done.append(Hook(path=ours, action="removed"))
    return done


def _taken_out(path: Path) -> Hook | None:
    aside = path.with_name(path.name + ASIDE)
    if not is_ours(path):
        return Hook(path=path, action="left alone") if aside.exists() else None
    path.unlink()
    if aside.exists() or aside.is_symlink():
        aside.rename(path)
        return Hook(path=path, action="restored")
    return Hook(path=path, action="removed")


def is_ours(path: Path) -> bool:
    try:
        return MARK in path.read_text("utf-8", "replace")
    except OSError:
        return False


def _previous(ours: Path) -> tuple[str, str]:
    scope, _, value = (ours / PREVIOUS).read_text("utf-8").partition("\n")
    return scope, value.removesuffix("\n")


def checkouts_beside(folder: str) -> list[str]:
    """The roots of the other checkouts of the repository that this folder is in."""
    root = next((each for each in (Path(folder), *Path(folder).parents) if (each / ".git").exists()), None)
    common = _common(root) if root else None
    if root is None or common is None:
        return []
    found = [common.parent, *(_root(entry) for entry in sorted(_entries(common / "worktrees"))[:AT_MOST])]
    return [str(each) for each in found if each is not None and each != root and each.is_dir()]


def _common(root: Path) -> Path | None:
    """The `.git` folder that all checkouts share."""
    git = root / ".git"
    if git.is_dir():
        return git
    pointer = _text(git)
    if not pointer.startswith(POINTER):
        return None
    own = (root / pointer.removeprefix(POINTER)).resolve()
    shared = _text(own / "commondir")
    return (own / shared).resolve() if shared else None


def _entries(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder)]
    except OSError:
        return []


def _root(entry: Path) -> Path | None:
    pointer = _text(entry / "gitdir")
    return Path(pointer).parent if pointer else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
