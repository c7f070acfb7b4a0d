"""`tally install` and `tally uninstall`: our server, hooks and skill in a harness's own configuration."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline.command import Command
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.errors import Usage
from tallystick.surfaces.cli.session import Session

if TYPE_CHECKING:
    from tallystick.harnesses.install.config_edit import FileChange, InstallReceipts
    from tallystick.harnesses.install.config_entries import TallyProgram
    from tallystick.harnesses.install.plan import ConfigFiles

HARNESSES = ("claude", "codex", "gemini")
FORWARDED = ("TALLYSTICK_DATABASE_URL",)
NEXT = {
    ("claude", "project"): "Claude Code asks each person once whether to use the servers of .mcp.json.",
    ("codex", "project"): "Codex reads .codex only in a project that you trust.",
    ("gemini", "user"): "Gemini CLI starts servers only in folders that you trust.",
    ("gemini", "project"): "Gemini CLI starts servers only in folders that you trust.",
}
TRUST_HOOKS = "Codex runs hooks only after you have looked at them: start codex and type /hooks."

_harness = click.argument("harness", type=click.Choice(HARNESSES))
_user = click.option("--user", is_flag=True, help="For you, in every workspace; this is the default.")
_project = click.option("--project", is_flag=True, help="For everybody in this workspace, in files to be committed.")
_print = click.option("--print", "only_print", is_flag=True, help="Show what would change as a diff; write nothing.")


@click.command(cls=Command)
@_harness
@_user
@_project
@click.option("--hooks", is_flag=True, help="Also check edits against reservations, and greet and remind the agent.")
@_print
@click.pass_obj
def install(session: Session, *, harness: str, user: bool, project: bool, hooks: bool, only_print: bool) -> None:
    """Set a harness up: MCP server, skill and, with --hooks, hooks.

    Everything else in its configuration stays byte for byte. Running it again changes nothing, or mends what has become
    outdated; `tally uninstall` takes back exactly what was written.
    """
    from tallystick.harnesses.install import plan

    scope, config_files, receipts = _place(session, harness, user=user, project=project)
    changes = plan.install(harness, config_files, _program(session, scope), receipts, hooks=hooks)
    hints = [NEXT[harness, scope]] if (harness, scope) in NEXT else []
    hints += [TRUST_HOOKS] if harness == "codex" and hooks else []
    _finish(session, changes, receipts, only_print=only_print, hints=hints)


@click.command(cls=Command)
@_harness
@_user
@_project
@_print
@click.pass_obj
def uninstall(session: Session, *, harness: str, user: bool, project: bool, only_print: bool) -> None:
    """Take out of a harness what `tally install` put in.

    What you or the harness changed since stays; a file that was there before is as it was.
    """
    from tallystick.harnesses.install import plan

    _, config_files, receipts = _place(session, harness, user=user, project=project)
    changes = plan.uninstall(harness, config_files, receipts)
    _finish(session, changes, receipts, only_print=only_print, forget=True)


def _place(session: Session, harness: str, *, user: bool, project: bool) -> tuple[str, ConfigFiles, InstallReceipts]:
    from tallystick.harnesses.install.config_edit import InstallReceipts
    from tallystick.harnesses.install.plan import InstallScope, config_files, workspace

    if user and project:
        raise Usage("Give --user or --project, not both.")
    scope = InstallScope.PROJECT if project else InstallScope.USER
    found = config_files(harness, scope, root=workspace(Path.cwd()), environ=os.environ)
    return scope.value, found, InstallReceipts(session.settings.data_dir)


def _program(session: Session, scope: str) -> TallyProgram:
    from tallystick.harnesses.install.config_entries import TallyProgram

    chosen = session.data_dir or os.environ.get("TALLYSTICK_DATA_DIR")
    return TallyProgram(
        path="tally" if scope == "project" else this_program(),
        data_dir=str(Path(chosen).expanduser().absolute()) if chosen else "",
        forward=[name for name in FORWARDED if os.environ.get(name)],
    )


def this_program() -> str:
    """The absolute path of the command that runs now. Links stay, since an upgrade changes what they lead to."""
    called = shutil.which(sys.argv[0])
    if called and Path(called).name.removesuffix(".exe") == "tally":
        return str(Path(called).absolute())
    return str(Path(sys.executable).with_name("tally"))


def _finish(
    session: Session,
    changes: Sequence[FileChange],
    receipts: InstallReceipts,
    *,
    only_print: bool,
    forget: bool = False,
    hints: Sequence[str] = (),
) -> None:
    from tallystick.harnesses.install import config_edit

    if not only_print:
        config_edit.apply(changes, receipts, forget=forget)
    diff = [line for change in changes for line in _diff(change)]
    files = [
        {"path": str(each.path), "action": each.action, "what": list(each.what), "note": each.note or None}
        for each in changes
    ]
    if session.finish({"written": not only_print, "files": files, "diff": "".join(diff), "next": list(hints)}):
        return
    if only_print:
        screen.say(*(line.rstrip("\n") for line in diff))
        return
    for each in changes:
        screen.say(f"{each.action:<10}{each.path} ({', '.join(each.what)}){f': {each.note}' if each.note else ''}")
    screen.say(*hints)


def _diff(change: FileChange) -> Iterator[str]:
    before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
    old, new = (str(change.path) if text is not None else "/dev/null" for text in (change.before, change.after))
    for line in difflib.unified_diff(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n"
