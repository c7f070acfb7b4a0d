"""The guard's git hooks: put in before whatever was there, which still runs first, and taken out without a trace.

Where git looks into its own `hooks` folder, an existing hook is set aside by a rename. Where `core.hooksPath` points
elsewhere (often at files that are tracked, generated or shared) nothing there is touched: git is pointed at a folder of
ours whose hooks call those.
"""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from tallystick.harnesses.errors import GuardInTheWay
from tallystick.harnesses.git_repository import Repository

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
