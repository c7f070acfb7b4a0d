"""`tally whoami`: which agent this command speaks for, and why."""

from __future__ import annotations

import os

import click

from tallystick.commandline.command import Command
from tallystick.harnesses import known
from tallystick.harnesses.identity import VARIABLE
from tallystick.kernel.caller import HOLDERS, Caller
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.session import Session


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
    if explain:
        data["why"] = why(session.agent, caller)
    if not session.finish(data):
        screen.pairs(data)


def why(explicit: str | None, caller: Caller) -> str:
    """The rule that decided, in the order in which the rules are tried."""
    if explicit is not None:
        return "You named it with --as."
    if os.environ.get(VARIABLE):
        return f"{VARIABLE} names it."
    if caller.harness and caller.process:
        return f"Process {caller.process.pid}, above this command, is an instance of {caller.harness}."
    if harness := known.marked(os.environ):
        found = ", ".join(name for name in harness.markers if os.environ.get(name))
        return f"The environment has markers of {harness.slug} ({found}), but no such process can be seen above."
    return "No harness is above this command: it was typed by a person, named by user and terminal."
