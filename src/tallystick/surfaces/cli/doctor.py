"""`tally doctor`: what is well, what is not, and how to put it right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tallystick.kernel.errors import TallyError
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.failures import REFUSED
from tallystick.surfaces.cli.options import Command
from tallystick.surfaces.cli.session import Session
from tallystick.surfaces.cli.whoami import why

if TYPE_CHECKING:
    from tallystick.hub.diagnosis import Check


@click.command(cls=Command)
@click.option("--deep", is_flag=True, help="Verify every event instead of the latest of each room.")
@click.pass_obj
def doctor(session: Session, *, deep: bool) -> int:
    """Check the store, the machine and who you are.

    Creates nothing. Exits 1 when something is bad.
    """
    from tallystick.hub.diagnosis import Verdict, examine

    checks = [*examine(session.settings, deep=deep), _identity(session)]
    bad = any(check.verdict is Verdict.BAD for check in checks)
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
