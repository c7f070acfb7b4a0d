"""What Tab offers beside commands and options: the agents, jobs and rooms that there are.

Whoever presses Tab has not asked for anything yet: what cannot be found is not offered, and nothing else is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.kernel.errors import TallyError
from tallystick.surfaces.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import click

MOST = 100
EVERYBODY = ("user", "@all", "@peers", "@foreman")


def agents(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Everybody in the room, by id."""
    return _fitting((each["agent_id"] for each in _found(ctx, "agents.list", "agents")), incomplete)


def recipients(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Everybody in the room, and the names for several; after a comma the next one."""
    before, comma, last = incomplete.rpartition(",")
    found = [*agents(ctx, param, last), *_fitting(EVERYBODY, last)]
    return [f"{before}{comma}{each}" for each in found]


def jobs(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The newest jobs of the room."""
    found = _found(ctx, "jobs.list", "jobs", limit=MOST)
    return _fitting((each["job_id"] for each in found), incomplete.upper())


def rooms(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Every open room."""
    return _fitting((each["room_id"] for each in _answer(ctx, "rooms.list", {"limit": MOST}, "rooms")), incomplete)


def _fitting(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _found(ctx: click.Context, operation: str, name: str, **given: object) -> Sequence[dict[str, Any]]:
    """A list about the room that the line so far is about."""
    session = ctx.find_object(Session) or Session()
    try:
        room = session.room(None, ctx.params.get("room_id"))
    except (TallyError, OSError):
        return []
    return _answer(ctx, operation, {"room_id": room, **given}, name)


def _answer(ctx: click.Context, operation: str, given: dict[str, object], name: str) -> Sequence[dict[str, Any]]:
    session = ctx.find_object(Session) or Session()
    try:
        return session.call(operation, given).data[name]
    except (TallyError, OSError):
        return []
    finally:
        session.drop_notices()
