"""`tally guard`: git hooks that refuse commits and pushes of paths which another active agent has reserved."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tallystick.commandline import output
from tallystick.commandline.command import Command
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.errors import Usage
from tallystick.surfaces.cli.failures import REFUSED
from tallystick.surfaces.cli.install import this_program
from tallystick.surfaces.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick.harnesses.git_guard import Hook, Repository
    from tallystick.hub.reservation_check import ReservedByOther

ACTIONS = ("install", "uninstall", "check")
SHOWN = 20


@click.command(cls=Command)
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
    from tallystick.hub import reservation_precheck
    from tallystick.kernel.clock import system_clock

    if session.settings.database_url or repository.main_tree or repository.superproject:
        return False
    return reservation_precheck.concerns_nobody(
        str(session.settings.data_dir / "tally.sqlite"), paths, "", system_clock()
    )


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
            output.remark(
                f"Refused. Ask {active[0].held_by}, or leave those paths out; --no-verify overrides the guard."
            )
    return refused if active else 0
