"""`tally install` and `tally uninstall`: our server, hooks and skill in a harness's own configuration."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline import output
from tallystick.commandline.command import Command
from tallystick.harnesses.registry import TITLES
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.failures import REFUSED
from tallystick.surfaces.cli.session import Session, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.harnesses.git_guard import Hook, Repository
    from tallystick.harnesses.install.config_edit import FileChange, InstallReceipts
    from tallystick.harnesses.install.config_entries import TallyProgram
    from tallystick.harnesses.install.plan import ConfigFiles
    from tallystick.hub.reservation_check import ReservedByOther


FORWARDED = ("TALLYSTICK_DATABASE_URL",)
NEXT = {
    ("claude", "project"): "Claude Code asks each person once whether to use the servers of .mcp.json.",
    ("codex", "project"): "Codex reads .codex only in a project that you trust.",
    ("gemini", "user"): "Gemini CLI starts servers only in folders that you trust.",
    ("gemini", "project"): "Gemini CLI starts servers only in folders that you trust.",
}
NAME = r"[a-z][a-z0-9-]{0,31}"
ABSENT = "{} is not here: there is no `{}` on the PATH. What was written waits for it."
TRUST_HOOKS = "Codex runs hooks only after you have looked at them: start codex and type /hooks."

_harness = click.argument("harness", type=click.Choice(list(TITLES)))
_user = click.option("--user", is_flag=True, help="For you, in every workspace; this is the default.")
_project = click.option("--project", is_flag=True, help="For everybody in this workspace, in files to be committed.")
_print = click.option("--print", "only_print", is_flag=True, help="Show what would change as a diff; write nothing.")


@click.command(cls=Command, no_args_is_help=True)
@_harness
@_user
@_project
@click.option("--hooks", is_flag=True, help="Also check edits against reservations, and greet and remind the agent.")
@click.option(
    "--allow-tools", is_flag=True, help="Let the agent call our own tools without a question to you; one setting."
)
@click.option("--name", default="", help="What the harness calls our server, where `tally` is taken already.")
@click.option("--status-line", is_flag=True, help="Claude Code: show stick, mail and reservations below the prompt.")
@_print
@click.pass_obj
def install(
    session: Session,
    *,
    harness: str,
    user: bool,
    project: bool,
    hooks: bool,
    allow_tools: bool,
    name: str,
    status_line: bool,
    only_print: bool,
) -> None:
    """Set a harness up: MCP server, skill and, with --hooks, hooks.

    A checkout has the same as a plugin or an extension of the harness: docs/guides/install.md. Everything else in its
    configuration stays byte for byte. Running it again changes nothing, or mends what has become
    outdated; `tally uninstall` takes back exactly what was written.
    """
    from tallystick.harnesses.install import plan

    if name and not re.fullmatch(NAME, name):
        raise Usage("--name takes lower-case letters, digits and hyphens, as in --name tallystick.")
    if status_line and harness != "claude":
        raise Usage("--status-line is for Claude Code: the other harnesses have none that a program can fill.")
    scope, config_files, receipts = place(session, harness, user=user, project=project)
    ours = replace(program(session, scope), name=name, allowed=allow_tools)
    changes = plan.install(harness, config_files, ours, receipts, hooks=hooks, status_line=status_line)
    hints = [] if shutil.which(harness) else [ABSENT.format(TITLES[harness], harness)]
    hints += [NEXT[harness, scope]] if (harness, scope) in NEXT else []
    hints += [TRUST_HOOKS] if harness == "codex" and hooks else []
    if not allow_tools:
        where = "--project" if scope == "project" else "--user"
        again = f"tally install {harness}{' --hooks' if hooks else ''} {where} --allow-tools"
        hints += [f"{TITLES[harness]} may ask before it calls our tools. `{again}` lets them run."]
    _finish(session, changes, receipts, only_print=only_print, hints=hints)


@click.command(cls=Command, no_args_is_help=True)
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

    _, config_files, receipts = place(session, harness, user=user, project=project)
    changes = plan.uninstall(harness, config_files, receipts)
    _finish(session, changes, receipts, only_print=only_print, forget=True)


def place(session: Session, harness: str, *, user: bool, project: bool) -> tuple[str, ConfigFiles, InstallReceipts]:
    from tallystick.harnesses.install.config_edit import InstallReceipts
    from tallystick.harnesses.install.plan import InstallScope, config_files, workspace

    if user and project:
        raise Usage("Give --user or --project, not both.")
    scope = InstallScope.PROJECT if project else InstallScope.USER
    found = config_files(harness, scope, root=workspace(Path.cwd()), environ=os.environ)
    return scope.value, found, InstallReceipts(session.settings.data_dir)


def program(session: Session, scope: str) -> TallyProgram:
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
    lines = [line for change in changes for line in diff(change)]
    files = [
        {"path": str(each.path), "action": each.action, "what": list(each.what), "note": each.note or None}
        for each in changes
    ]
    if session.finish({"written": not only_print, "files": files, "diff": "".join(lines), "next": list(hints)}):
        return
    if only_print:
        screen.say(*(line.rstrip("\n") for line in lines))
        return
    for each in changes:
        screen.say(f"{each.action:<10}{each.path} ({', '.join(each.what)}){f': {each.note}' if each.note else ''}")
    screen.say(*hints)


def diff(change: FileChange) -> Iterator[str]:
    before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
    old, new = (str(change.path) if text is not None else "/dev/null" for text in (change.before, change.after))
    for line in difflib.unified_diff(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n"


ACTIONS = ("install", "uninstall", "check")
SHOWN = 20


@click.command(cls=Command, no_args_is_help=True)
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("hook", nargs=-1)
@click.pass_obj
def guard(session: Session, *, action: str, hook: tuple[str, ...]) -> int:
    """Keep commits away from what others have reserved.

    `install` adds git hooks before a commit, a merge and a push, and lets those that were there run first; `uninstall`
    restores exactly what was there; `check` looks at what is staged now.
    """
    from tallystick.harnesses import git_guard
    from tallystick.harnesses.git_guard import Repository

    if action == "check":
        return _check(session, hook)
    if hook:
        raise Usage(f"`tally guard {action}` takes no further words.")
    repository = Repository.here()
    done = git_guard.install(repository, this_program()) if action == "install" else git_guard.uninstall(repository)
    _show(session, done)
    return 0


def _show(session: Session, done: Sequence[Hook]) -> None:
    rows = [{"path": str(each.path), "action": each.action, "chained": each.chained or None} for each in done]
    if not session.finish({"hooks": rows}):
        for each in done:
            screen.say(f"{each.action:<12}{each.path}{f' (after {each.chained})' if each.chained else ''}")


def _check(session: Session, hook: tuple[str, ...]) -> int:
    """In a hook nothing but a reservation says no: whatever else goes wrong is told to the caller, who goes on."""
    if not hook:
        return _answer(session, _found(session, ()), refused=REFUSED)
    from tallystick.harnesses.git_guard import REFUSED as NO

    try:
        return _answer(session, _found(session, hook), refused=NO)
    except Exception as wrong:  # noqa: BLE001 - the outermost handler of a hook
        output.remark(f"Tallystick guard could not look: {wrong} This was NOT checked. Run: tally doctor")
        return 0


def _found(session: Session, hook: tuple[str, ...]) -> list[ReservedByOther]:
    from tallystick.harnesses.git_guard import Repository, committed, pushed

    repository = Repository.here()
    remote = hook[1] if len(hook) > 1 else "origin"
    names = pushed(remote, sys.stdin) if hook[:1] == ("pre-push",) else committed()
    paths = [str(repository.top / name.encode("utf-8", "replace").decode()) for name in names]
    if not paths or not session.has_store or _passes(session, repository, paths):
        return []
    return _taken(session, repository, paths)


def _passes(session: Session, repository: Repository, paths: Sequence[str]) -> bool:
    """Whether a first look shows that nobody at all has reserved any of it."""
    from tallystick.hub import reservation_check
    from tallystick.kernel.clock import system_clock

    if session.settings.database_url or repository.main_tree or repository.superproject:
        return False
    return reservation_check.concerns_nobody(str(session.settings.data_dir / "tally.sqlite"), paths, "", system_clock())


def _taken(session: Session, repository: Repository, paths: Sequence[str]) -> list[ReservedByOther]:
    from tallystick.hub import reservation_check

    ask = session.line.ask
    main, above = repository.main_tree, repository.superproject
    if main and not reservation_check.rooms(ask, str(repository.top)):
        # A working tree without a room of its own goes by that of the first one, where the same file has another place.
        paths = [str(main / path[len(str(repository.top)) + 1 :]) for path in paths]
        return reservation_check.found(ask, paths, folders=[str(main)])
    return reservation_check.found(ask, paths, folders=[str(repository.top), *([str(above)] if above else [])])


def _answer(session: Session, found: Sequence[ReservedByOther], *, refused: int) -> int:
    active = [each for each in found if each.active]
    rows = [
        {"path": each.path, "held_by": each.held_by, "name": each.name, "until": each.until, "active": each.active}
        for each in found
    ]
    if not session.finish({"allowed": not active, "taken": rows}):
        for each in found[:SHOWN]:
            silent = "" if each.active else " (fallen silent: allowed)"
            output.remark(f"Tallystick: {each.path} is reserved by {each.holder} until {each.until}{silent}")
        if len(found) > SHOWN:
            output.remark(f"Tallystick: and {len(found) - SHOWN} more")
        if active:
            output.remark(f"Refused. Ask {active[0].held_by}, or leave those paths out.")
    return refused if active else 0
