"""`tally setup`: every harness of this machine, the commits of this repository and the hub, with one question."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline.command import Command
from tallystick.harnesses.registry import TITLES
from tallystick.surfaces.cli import install, screen
from tallystick.surfaces.cli.session import Session, Usage

if TYPE_CHECKING:
    from tallystick.harnesses.install.config_edit import FileChange, InstallReceipts

NONE = "No harness is on the PATH: neither claude, codex nor gemini. Install one and run `tally setup` again."


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessSetup:
    """What one harness would get, or lose."""

    name: str
    changes: list[FileChange]
    receipts: InstallReceipts


@click.command(cls=Command)
@click.option("--allow-tools", is_flag=True, help="Let agents call our own tools without a question to you.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--undo", is_flag=True, help="Take back all that this command did here; stop hub and service.")
@click.pass_obj
def setup(session: Session, *, allow_tools: bool, yes: bool, dry_run: bool, undo: bool) -> int:
    """Set up every harness here, guard commits and start the hub.

    Finds Claude Code, Codex and Gemini CLI, shows one diff and asks once. What is there already stays as it is.
    """
    from tallystick.harnesses.install import config_edit

    found = [name for name in TITLES if undo or shutil.which(name)]
    parts = [_planned(session, name, undo=undo, allow_tools=allow_tools) for name in found]
    diff = [line for part in parts for change in part.changes for line in install.diff(change)]
    repository = _in_repository()
    running = '"running":true' in _tally(session, "status", "--json", stdout=subprocess.PIPE).stdout
    if not session.as_json:
        _tell(found, diff, undo=undo)
        screen.say(_guard_told(undo=undo, repository=repository), _hub_told(undo=undo, running=running))
    facts = {"harnesses": found, "guard": repository, "diff": "".join(diff)}
    if dry_run:
        session.finish({**facts, "done": False})
        return 0
    if not yes and not _agreed(undo=undo):
        screen.say("Nothing was changed.")
        return 0
    for name in found:
        # Planned again: what was written where is noted in one file, which the one before has just changed.
        part = _planned(session, name, undo=undo, allow_tools=allow_tools)
        config_edit.apply(part.changes, part.receipts, forget=undo)
    _guard(undo=undo, repository=repository)
    if session.finish({**facts, "done": True}):
        return 0
    changed = [part.name for part in parts if _changed(part)]
    screen.say(*(f"{TITLES[name]}: {'taken back' if undo else 'set up'}." for name in changed))
    if changed and not undo:
        screen.say(f"Start {', '.join(changed)} anew, in your repository: each then knows of the others.")
        screen.say(*([install.TRUST_HOOKS] if "codex" in changed else []))
    return _hub(session, undo=undo, running=running)


def _planned(session: Session, name: str, *, undo: bool, allow_tools: bool) -> HarnessSetup:
    from tallystick.harnesses.install import plan

    scope, files, receipts = install.place(session, name, user=True, project=False)
    program = replace(install.program(session, scope), allowed=allow_tools)
    changes = (
        plan.uninstall(name, files, receipts) if undo else plan.install(name, files, program, receipts, hooks=True)
    )
    return HarnessSetup(name=name, changes=changes, receipts=receipts)


def _tell(found: list[str], diff: list[str], *, undo: bool) -> None:
    if not undo:
        screen.say(f"Found: {', '.join(TITLES[name] for name in found)}." if found else NONE)
    screen.say(*(line.rstrip("\n") for line in diff))
    if found and not diff:
        screen.say("Nothing of ours is in their configuration." if undo else "They are set up already.")


def _guard_told(*, undo: bool, repository: bool) -> str:
    if not shutil.which("git"):
        return "There is no git on the PATH: commits cannot be guarded."
    if not repository:
        return "This folder is in no git repository: there are no commits to guard."
    from tallystick.harnesses import git_guard
    from tallystick.harnesses.git_guard import Repository

    if git_guard.is_ours(Repository.here().hooks / "pre-commit"):
        return f"The git hooks that guard commits {'will be taken out of' if undo else 'are in'} this repository."
    return f"Git hooks that guard commits {'are not in' if undo else 'will be added to'} this repository."


def _hub_told(*, undo: bool, running: bool) -> str:
    if undo:
        return "The hub will be stopped." if running else "No hub is running."
    return "The hub runs already." if running else "The hub will be started in the background, and its page opened."


def _agreed(*, undo: bool) -> bool:
    if not sys.stdin.isatty():
        raise Usage(
            "Nobody is there to be asked: give --yes, or --dry-run to look only.", hint="See `tally setup --help`."
        )
    return click.confirm("Take it back?" if undo else "Do it?", default=True)


def _changed(part: HarnessSetup) -> bool:
    return any(change.before != change.after for change in part.changes)


def _guard(*, undo: bool, repository: bool) -> None:
    from tallystick.harnesses import git_guard
    from tallystick.harnesses.git_guard import Repository

    if repository and undo:
        git_guard.uninstall(Repository.here())
    elif repository:
        git_guard.install(Repository.here(), install.this_program())


def _in_repository() -> bool:
    from tallystick.harnesses.install.plan import workspace

    return shutil.which("git") is not None and (workspace(Path.cwd()) / ".git").exists()


def _hub(session: Session, *, undo: bool, running: bool) -> int:
    sys.stdout.flush()
    if undo:
        # Before the hub is stopped, or the service would start it again.
        _tally(session, "--json", "service", "remove", stdout=subprocess.DEVNULL)
        ended = _tally(session, "down").returncode
        if session.settings.data_dir.exists():
            screen.say(f"The record stays in {session.settings.data_dir}; delete that folder to be rid of it.")
        return ended
    return _tally(session, *(["status"] if running else ["up", "--detach", "--open"])).returncode


def _tally(session: Session, *words: str, stdout: int | None = None) -> subprocess.CompletedProcess[str]:
    """The program itself, on the same store: which surface serves is not known here."""
    environ = {**os.environ, **session.variables()}
    return subprocess.run([install.this_program(), *words], env=environ, stdout=stdout, text=True, check=False)
