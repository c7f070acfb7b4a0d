"""`tally agent …`: the commands of the BeadBoard protocol, each an operation of ours under the names used there."""

from __future__ import annotations

import click

from tallystick.commandline.command import Command, Group
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.agent_mail import ack, inbox, read, send
from tallystick.surfaces.cli.agent_session import Acting, acting, call, said
from tallystick.surfaces.cli.options import room_option
from tallystick.surfaces.cli.session import Session, absolute
from tallystick.surfaces.cli.start import Start


@click.group(cls=Group, subcommand_metavar="COMMAND [ARGS]...")
def agent() -> None:
    """Work as one of several agents: name, sign of life, messages, reservations."""


@agent.command(cls=Command)
@click.option("--name", metavar="NAME", help="adjective-noun, such as amber-otter; given to you if left out.")
@click.option("--role", type=click.Choice(["foreman", "peer"]), help="What you are here.")
@click.option("--force-update", is_flag=True, help="Change the name or role you registered before.")
@click.pass_obj
def register(session: Session, *, name: str | None, role: str | None, force_update: bool) -> None:
    """Join the room of this workspace under a name that nobody else has."""
    start = Start(session, absolute(None), asks=False)
    data = start.register(name, role, mode="register", force=force_update)
    if not session.finish(data):
        screen.pairs(data)


@agent.command(cls=Command, name="list")
@click.option("--role", type=click.Choice(["foreman", "peer"]), help="Only these.")
@click.option("--status", type=click.Choice(["active", "stale", "evicted"]), help="Only these.")
@room_option
@click.pass_obj
def list_(session: Session, *, role: str | None, status: str | None, room_id: str | None) -> None:
    """List the agents of the room: role, when each was last seen, who is alive and who is stalled."""
    call(session, "agents.list", session.room(None, room_id), role=role, status=status)


@agent.command(cls=Command)
@click.option("--agent", "who", metavar="ID", required=True, help="Whom to show, by id or name.")
@room_option
@click.pass_obj
def show(session: Session, *, who: str, room_id: str | None) -> None:
    """Show one agent: when it was last seen, whether it is alive, what it holds."""
    call(session, "agents.show", session.room(None, room_id), agent_id=who)


@agent.command(cls=Command)
@acting
def heartbeat(me: Acting) -> None:
    """Say that you are alive."""
    me.call("agents.heartbeat")


@agent.command(cls=Command)
@acting
@click.option("--scope", required=True, metavar="PATH", help="A file or a folder; src/* is the folder src.")
@click.option("--bead", "--task", "task_id", metavar="ID", help="The task it is for.")
@click.option("--ttl", type=int, help="How long to keep it, in minutes: 120, or 5 to 1440.")
@click.option("--shared", is_flag=True, help="Share it with others who know of it.")
@click.option("--takeover-stale", is_flag=True, help="Take the place of holders that are stale or evicted.")
def reserve(
    me: Acting, *, scope: str, task_id: str | None, ttl: int | None, shared: bool, takeover_stale: bool
) -> None:
    """Reserve a file or a folder before you edit it."""
    me.call(
        "reservations.reserve",
        path=said(scope),
        task_id=task_id,
        ttl_minutes=ttl,
        mode="shared" if shared else None,
        takeover_stale=takeover_stale or None,
    )


@agent.command(cls=Command)
@acting
@click.option("--scope", required=True, metavar="PATH", help="What you reserved.")
def release(me: Acting, *, scope: str) -> None:
    """Give back what you reserved."""
    me.call("reservations.release", path=said(scope))


@agent.command(cls=Command)
@click.option("--bead", "--task", "task_id", metavar="ID", help="Only what is reserved for this task.")
@click.option("--agent", "who", metavar="ID", help="Only what this agent holds.")
@room_option
@click.pass_obj
def status(session: Session, *, task_id: str | None, who: str | None, room_id: str | None) -> None:
    """List who has reserved what, until when."""
    call(session, "reservations.status", session.room(None, room_id), agent_id=who, task_id=task_id)


for command in (send, inbox, read, ack):
    agent.add_command(command)
