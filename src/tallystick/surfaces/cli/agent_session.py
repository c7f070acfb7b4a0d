"""Acting as a named agent of a room: what the commands of `tally agent` share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

import click

from tallystick.surfaces.cli import telling
from tallystick.surfaces.cli.options import room_option
from tallystick.surfaces.cli.session import Reply, Session, absolute
from tallystick.surfaces.cli.views import View

P = ParamSpec("P")


class _Agent(View):
    agent_id: str


class Acting:
    """One agent in one room, for the length of a command."""

    def __init__(self, session: Session, who: str | None, room_id: str | None) -> None:
        self.session = session
        self.room_id = session.room(None, room_id)
        if who is not None:
            # Looked up before anything else is done, so that a misspelt name does nothing.
            session.act_as(
                session.call("agents.show", {"room_id": self.room_id, "agent_id": who}).view(_Agent).agent_id
            )

    def ask(self, operation: str, **given: object) -> Reply:
        return ask(self.session, operation, self.room_id, **given)

    def call(self, operation: str, **given: object) -> None:
        call(self.session, operation, self.room_id, **given)


def ask(session: Session, operation: str, room_id: str, **given: object) -> Reply:
    """Call an operation about a room; what was not given is left out."""
    return session.call(
        operation, {"room_id": room_id} | {key: each for key, each in given.items() if each is not None}
    )


def call(session: Session, operation: str, room_id: str, **given: object) -> None:
    """The same, and show the answer."""
    reply = ask(session, operation, room_id, **given)
    if not session.finish(reply.data):
        telling.tell(operation, reply.data)


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
