"""`tally setup`: every harness of this machine, the commits of this repository and the hub, with one question."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline.command import Command
from tallystick.harnesses.registry import TITLES
from tallystick.surfaces.cli import install, screen
from tallystick.surfaces.cli.errors import Usage
from tallystick.surfaces.cli.session import Session

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
    if not session.as_json:
        _tell(found, diff, undo=undo, repository=repository)
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
    screen.say(*(f"{TITLES[part.name]}: {'taken back' if undo else 'set up'}." for part in parts if _changed(part)))
    return _hub(session, undo=undo)


def _planned(session: Session, name: str, *, undo: bool, allow_tools: bool) -> HarnessSetup:
    from tallystick.harnesses.install import plan

    scope, files, receipts = install.place(session, name, user=True, project=False)
    program = replace(install.program(session, scope), allowed=allow_tools)
    changes = (
        plan.uninstall(name, files, receipts) if undo else plan.install(name, files, program, receipts, hooks=True)
    )
    return HarnessSetup(name=name, changes=changes, receipts=receipts)


def _tell(found: list[str], diff: list[str], *, undo: bool, repository: bool) -> None:
    if not undo:
        screen.say(f"Found: {', '.join(TITLES[name] for name in found)}." if found else NONE)
    screen.say(*(line.rstrip("\n") for line in diff))
    if found and not diff:
        screen.say("Nothing of ours is in their configuration." if undo else "They are set up already.")
    hooks = "removed from" if undo else "added to"
    screen.say(
        f"The git hooks that guard commits are {hooks} this repository."
        if repository
        else "This folder is in no git repository, so no commits are guarded."
    )
    screen.say("The hub is stopped." if undo else "The hub is started in the background, and its page opened.")


def _agreed(*, undo: bool) -> bool:
    if not sys.stdin.isatty():
        raise Usage("Nobody is there to be asked: give --yes, or --dry-run to look only.")
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


def _hub(session: Session, *, undo: bool) -> int:
    """Through the program itself: which surface serves is not known here."""
    import subprocess

    sys.stdout.flush()
    tally = install.this_program()
    running = subprocess.run([tally, "status", "--json"], capture_output=True, text=True, check=False).stdout
    if undo:
        # Before the hub is stopped, or the service would start it again.
        subprocess.run([tally, "--json", "service", "remove"], stdout=subprocess.DEVNULL, check=False)
        return subprocess.run([tally, "down"], check=False).returncode
    if '"running":true' in running:
        return subprocess.run([tally, "status"], check=False).returncode
    environ = {**os.environ, **session.variables()}
    return subprocess.run([tally, "up", "--detach", "--open"], env=environ, check=False).returncode
