"""`tally agent …`: the commands of the BeadBoard protocol, each an operation of ours under the names used there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Concatenate, ParamSpec

import click

from tallystick.capabilities.agents.contract import AgentView, ShowAgent
from tallystick.commandline.command import Command, Group
from tallystick.surfaces.cli import messages, render, screen, short_ids
from tallystick.surfaces.cli.init import SessionStart
from tallystick.surfaces.cli.options import room_option
from tallystick.surfaces.cli.session import CallReply, Session, Usage, absolute

P = ParamSpec("P")


class Acting:
    """One agent in one room, for the length of a command."""

    def __init__(self, session: Session, who: str | None, room_id: str | None) -> None:
        self.session = session
        self.room_id = session.room(None, room_id)
        if who is not None:
            # Looked up before anything else is done, so that a misspelt name does nothing.
            shown = session.ask("agents.show", ShowAgent(room_id=self.room_id, agent_id=who), AgentView)
            session.act_as(shown.agent_id)

    def ask(self, operation: str, **given: object) -> CallReply:
        return ask(self.session, operation, self.room_id, **given)

    def call(self, operation: str, **given: object) -> None:
        call(self.session, operation, self.room_id, **given)


def ask(session: Session, operation: str, room_id: str, **given: object) -> CallReply:
    """Call an operation about a room; what was not given is left out."""
    return session.call(
        operation, {"room_id": room_id} | {key: each for key, each in given.items() if each is not None}
    )


def call(session: Session, operation: str, room_id: str, **given: object) -> None:
    """The same, and show the answer."""
    reply = ask(session, operation, room_id, **given)
    if not session.finish(reply.data):
        render.render(operation, reply)


def acting(command: Callable[Concatenate[Acting, P], None], flag: str = "--agent") -> Callable[..., None]:
    """Give a command `--agent` (or another flag) and `--room`, and itself as that agent."""

    @click.pass_obj
    @wraps(command)
    def run(session: Session, who: str | None, room_id: str | None, *args: P.args, **kwargs: P.kwargs) -> None:
        command(Acting(session, who, room_id), *args, **kwargs)

    option = click.option(flag, "who", metavar="ID", help="Whom you speak for, by id or name; yourself if left out.")
    return room_option(option(run))


def said(scope: str) -> str:
    """A scope as somebody at this directory means it: a wildcard at its end stays one."""
    return absolute(scope)


BROADCAST = {"broadcast": "@all", "role:peer": "@peers", "role:foreman": "@foreman"}


@click.command(cls=Command)
@partial(acting, flag="--from")
@click.option("--to", required=True, metavar="ID", help="An agent, user, broadcast, role:peer or role:foreman.")
@click.option("--bead", "--task", "task_id", metavar="ID", help="The task it is about; HANDOFF and BLOCKED need one.")
@click.option(
    "--category", type=click.Choice(["HANDOFF", "BLOCKED", "DECISION", "INFO"]), required=True, help="What it is."
)
@click.option("--subject", required=True, help="One line.")
@click.option(
    "--body", required=True, help="What was done (HANDOFF), what stands in the way (BLOCKED), or the message."
)
@click.option("--next-action", help="HANDOFF: what to do next.")
@click.option("--requested-action", help="BLOCKED: what you need.")
@click.option("--urgency", type=click.Choice(["low", "medium", "high"]), help="BLOCKED: how pressing it is; medium.")
@click.option("--scope", metavar="PATH", help="The path it is about.")
@click.option("--no-ack", is_flag=True, help="HANDOFF: it need not be accepted.")
def send(
    me: Acting,
    *,
    to: str,
    task_id: str | None,
    category: str,
    subject: str,
    body: str,
    next_action: str | None,
    requested_action: str | None,
    urgency: str | None,
    scope: str | None,
    no_ack: bool,
) -> None:
    """Hand work over, say what blocks you, or just say something."""
    if category in {"DECISION", "INFO"}:
        task = {"kind": "task_ref", "task_id": task_id} if task_id else None
        place = {"kind": "file", "path": said(scope)} if scope else None
        me.call(
            "messages.send",
            to=[BROADCAST.get(to, to)],
            text=f"{category}: {subject}\n\n{body}",
            refs=[each for each in (task, place) if each] or None,
        )
        return
    handoff = category == "HANDOFF"
    me.call(
        "protocol.send",
        event_type=category,
        to=BROADCAST.get(to, to),
        task_id=task_id,
        scope=scope,
        subject=subject,
        summary=body if handoff else None,
        blocker=None if handoff else body,
        next_action=next_action,
        requested_action=requested_action,
        urgency=urgency if handoff else urgency or "medium",
        requires_ack=False if no_ack else None,
    )


@click.command(cls=Command)
@click.option("--agent", "who", metavar="ID", help="Whose, by id or name; your own if left out.")
@room_option
@click.option("--state", type=click.Choice(["unread", "read", "acked"]), help="Only these; everything when left out.")
@click.option("--limit", type=int, help="At most this many; 50.")
@click.pass_obj
def inbox(session: Session, *, who: str | None, room_id: str | None, state: str | None, limit: int | None) -> None:
    """Show what was sent to you, or to another: the newest, newest last."""
    if limit is not None and not 1 <= limit <= 200:
        raise Usage("--limit takes 1 to 200.")
    # Asked about, not spoken for: whoever looks at an agent's inbox must not make it look alive.
    data = messages.newest(session, session.room(None, room_id), limit or 50, state, who)
    if not session.finish(data):
        render.render("messages.inbox", CallReply(data))


@click.command(cls=Command)
@acting
@click.option("--message", "event_id", metavar="ID", required=True, help="The last one you read.")
def read(me: Acting, *, event_id: str) -> None:
    """Mark what was sent to you as read, up to one message."""
    me.call("messages.read", event_id=short_ids.event(me.session, me.room_id, event_id))


@click.command(cls=Command)
@acting
@click.option("--message", "event_id", metavar="ID", required=True, help="The message you accept.")
def ack(me: Acting, *, event_id: str) -> None:
    """Accept a message that asked for it."""
    me.call("messages.ack", event_id=short_ids.event(me.session, me.room_id, event_id))


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
    start = SessionStart(session, absolute(None), asks=False)
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
    """List who has reserved what, until when, and how many messages still have to be accepted."""
    room = session.room(None, room_id)
    reply = ask(session, "reservations.status", room, agent_id=who, task_id=task_id)
    owed = int(ask(session, "messages.inbox", room, actor_id=who, limit=1).data["unacked"])
    if not session.finish({**reply.data, "unacked": owed}):
        render.render("reservations.status", reply)
        if owed:
            screen.say(f"{owed} to accept: {session.typed('messages.inbox')}.")


for command in (send, inbox, read, ack):
    agent.add_command(command)
