"""`tally agent send|inbox|read|ack`: messages, handoffs and blockers under BeadBoard's names."""

from __future__ import annotations

from functools import partial

import click
import msgspec

from tallystick.commandline.command import Command
from tallystick.surfaces.cli import telling
from tallystick.surfaces.cli.agent_session import Acting, acting
from tallystick.surfaces.cli.errors import Usage

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
        me.call("messages.send", to=[BROADCAST.get(to, to)], text=f"{category}: {subject}\n\n{body}")
        return
    handoff = category == "HANDOFF"
    me.call(
        "protocol.send",
        event_type=category,
        to=to,
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


class _Letter(msgspec.Struct, frozen=True):
    read: bool
    acked_at: str | None


class _Inbox(msgspec.Struct, frozen=True):
    messages: list[_Letter]


@click.command(cls=Command)
@acting
@click.option("--state", type=click.Choice(["unread", "read", "acked"]), help="Only these; everything when left out.")
@click.option("--limit", type=int, help="At most this many; 50.")
def inbox(me: Acting, *, state: str | None, limit: int | None) -> None:
    """Show what was sent to you."""
    if limit is not None and not 1 <= limit <= 200:
        raise Usage("--limit takes 1 to 200.")
    reply = me.ask("messages.inbox", since_seq=None if state == "unread" else 0, limit=limit or 50)
    letters = reply.view(_Inbox).messages
    wanted = [at for at, each in enumerate(letters) if state is None or _state(each) == state]
    messages = msgspec.convert(reply.data["messages"], list[dict[str, object]])
    data: dict[str, object] = {**reply.data, "messages": [messages[at] for at in wanted]}
    if not me.session.finish(data):
        telling.tell("messages.inbox", data)


def _state(letter: _Letter) -> str:
    return "acked" if letter.acked_at else "read" if letter.read else "unread"


@click.command(cls=Command)
@acting
@click.option("--message", "event_id", metavar="ID", required=True, help="The last one you read.")
def read(me: Acting, *, event_id: str) -> None:
    """Mark what was sent to you as read, up to one message."""
    me.call("messages.read", event_id=event_id)


@click.command(cls=Command)
@acting
@click.option("--message", "event_id", metavar="ID", required=True, help="The message you accept.")
def ack(me: Acting, *, event_id: str) -> None:
    """Accept a message that asked for it."""
    me.call("messages.ack", event_id=event_id)
