"""`tally doctor` and `tally whoami`: the store, the machine and who you are, checked and explained."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline import output
from tallystick.commandline.command import Command
from tallystick.harnesses import registry
from tallystick.harnesses.identity import VARIABLE
from tallystick.kernel.caller import HOLDERS, Caller
from tallystick.kernel.errors import TallyError
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.failures import REFUSED
from tallystick.surfaces.cli.session import Session

if TYPE_CHECKING:
    from tallystick.hub.diagnosis import Check


@click.command(cls=Command)
@click.option("--deep", is_flag=True, help="Verify every event instead of the latest of each room.")
@click.option("--repair", is_flag=True, help="Mend what can be mended without changing the ledger, then check.")
@click.pass_obj
def doctor(session: Session, *, deep: bool, repair: bool) -> int:
    """Check the store, the machine and who you are.

    Creates nothing, and changes nothing without --repair. Exits 1 when something is bad.
    """
    from tallystick.hub.diagnosis import CheckVerdict, examine

    with output.progress("Checking"):
        if repair:
            from tallystick.hub import maintenance

            session.settings.close_data_dir()
            maintenance.repair(session.existing_hub)
        checks = [*examine(session.settings, deep=deep), _identity(session), *_harnesses(session)]
    bad = any(check.verdict is CheckVerdict.BAD for check in checks)
    data = {"healthy": not bad, "checks": [check.data() for check in checks]}
    if not session.finish(data):
        screen.table(["", "CHECK", "FOUND"], [[check.verdict.value, check.name, check.found] for check in checks])
        for check in checks:
            if check.fix:
                screen.say(f"{check.name}: {check.fix}")
    return REFUSED if bad else 0


def _identity(session: Session) -> Check:
    from tallystick.hub.diagnosis import Check

    try:
        caller = session.caller
    except TallyError as error:
        return Check.failed("identity", error)
    found = f"{caller.agent_id} ({caller.session.value}). {why(session.agent, caller)}"
    return Check(name="identity", found=found)


def _harnesses(session: Session) -> Iterator[Check]:
    """What `tally install` wrote, and whether it still is as it should be."""
    from tallystick.harnesses.install import plan
    from tallystick.harnesses.install.config_edit import InstallReceipts
    from tallystick.harnesses.install.plan import workspace
    from tallystick.harnesses.registry import TITLES
    from tallystick.hub.diagnosis import Check, CheckVerdict

    receipts, root = InstallReceipts(session.settings.data_dir), workspace(Path.cwd())
    found = [
        plan.examine(name, receipts, root=root, environ=os.environ, valid=lambda secret: _valid(session, secret))
        for name in TITLES
    ]
    if not any(each.present or each.wrong for each in found):
        yield Check(name="harnesses", found="none is set up: `tally setup` does that")
    for each in found:
        if each.wrong:
            fix = f"Run `tally install {each.harness}` again as before; doubles have to be taken out by hand."
            text = "; ".join(each.wrong)
            yield Check(name=f"harness {each.harness}", verdict=CheckVerdict.WARN, found=text, fix=fix)
        elif each.present:
            yield Check(name=f"harness {each.harness}", found=", ".join(each.present))


def _valid(session: Session, secret: str) -> bool:
    """Whether a token counts; one that comes from the environment of the harness cannot be seen and passes."""
    from tallystick.hub import tokens

    if not secret:
        return True
    return session.has_store and tokens.find(session.hub, secret) is not None


@click.command(cls=Command)
@click.option("--explain", is_flag=True, help="Also say how the identity was found.")
@click.pass_obj
def whoami(session: Session, *, explain: bool) -> None:
    """Show which agent this command speaks for, and why.

    Everything that one harness instance runs gets the same identity: its MCP server, its shell, its hooks.
    """
    caller = session.caller
    data: dict[str, object] = {
        "agent_id": caller.agent_id,
        "session_kind": caller.session.value,
        "may_hold": caller.session in HOLDERS,
        "harness": caller.harness or None,
        "pid": caller.process.pid if caller.process else None,
        "process_started_at": caller.process.started_at if caller.process else None,
        "host_id": caller.process.host_id if caller.process else None,
    }
    if found := adopted(session, caller):
        data["acting_for"] = found
    if explain:
        data["why"] = why(session.agent, caller)
    if not session.finish(data):
        screen.pairs({name: value for name, value in data.items() if value is not None})


def adopted(session: Session, caller: Caller) -> str | None:
    """The agent whose place this session has taken in the room of this folder."""
    if not session.has_store:
        return None
    try:
        given: dict[str, object] = {"room_id": session.room(None, None), "paths": list[str]()}
        acting = str(session.call("reservations.check", given).data["agent_id"])
    except TallyError:
        return None
    return acting if acting != caller.agent_id else None


def why(explicit: str | None, caller: Caller) -> str:
    """The rule that decided, in the order in which the rules are tried."""
    if explicit is not None:
        return "You named it with --as."
    if os.environ.get(VARIABLE):
        return f"{VARIABLE} names it."
    if caller.harness and caller.process:
        return f"Process {caller.process.pid}, above this command, is an instance of {caller.harness}."
    if harness := registry.marked(os.environ):
        found = ", ".join(name for name in harness.markers if os.environ.get(name))
        return f"The environment has markers of {harness.slug} ({found}), but no such process can be seen above."
    return "No harness is above this command: it was typed by a person, named by user and terminal."
