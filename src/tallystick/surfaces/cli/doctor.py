"""`tally doctor`: what is well, what is not, and how to put it right."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline.command import Command
from tallystick.kernel.errors import TallyError
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.failures import REFUSED
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

    checks = [*examine(session.settings, deep=deep), _identity(session), *_harnesses(session)]
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


def _harnesses(session: Session) -> Iterator[Check]:
    """What `tally install` wrote, and whether it still is as it should be."""
    from tallystick.harnesses import drift
    from tallystick.harnesses.places import NAMES, workspace
    from tallystick.harnesses.receipts import Receipts
    from tallystick.hub.diagnosis import Check, Verdict

    receipts, root = Receipts(session.settings.data_dir), workspace(Path.cwd())
    found = [
        drift.examine(name, receipts, root=root, environ=os.environ, valid=lambda secret: _valid(session, secret))
        for name in NAMES
    ]
    if not any(each.present or each.wrong for each in found):
        yield Check(name="harnesses", found="none is set up: `tally install claude` does that")
    for each in found:
        if each.wrong:
            fix = f"Run `tally install {each.harness}` again as before; doubles have to be taken out by hand."
            text = "; ".join(each.wrong)
            yield Check(name=f"harness {each.harness}", verdict=Verdict.WARN, found=text, fix=fix)
        elif each.present:
            yield Check(name=f"harness {each.harness}", found=", ".join(each.present))


def _valid(session: Session, secret: str) -> bool:
    """Whether a token counts; one that comes from the environment of the harness cannot be seen and passes."""
    from tallystick.hub import tokens

    if not secret:
        return True
    return session.has_store and tokens.find(session.hub, secret) is not None
