"""Options and values that several commands share: the room they mean, times, JSON, a handoff; and what Tab offers.

Whoever presses Tab has not asked for anything yet: what cannot be found is not offered, and nothing else is said.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from tallystick.kernel.errors import TallyError
from tallystick.kernel.json_values import is_object
from tallystick.surfaces.cli.session import Session, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import click

F = TypeVar("F", bound=Callable[..., object])

_PERIOD = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}

MOST = 100
EVERYBODY = ("user", "@all", "@peers", "@foreman")


def complete_agents(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Everybody in the room, by id."""
    return _fitting((each["agent_id"] for each in _found(ctx, "agents.list", "agents")), incomplete)


def complete_recipients(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Everybody in the room, and the names for several; after a comma the next one."""
    before, comma, last = incomplete.rpartition(",")
    found = [*complete_agents(ctx, param, last), *_fitting(EVERYBODY, last)]
    return [f"{before}{comma}{each}" for each in found]


def complete_jobs(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The newest jobs of the room."""
    found = _found(ctx, "jobs.list", "jobs", limit=MOST)
    return _fitting((each["job_id"] for each in found), incomplete.upper())


def complete_rooms(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
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


def about_a_room(command: F) -> F:
    """The usual way to say which room is meant: PATH, by default the current directory, or --room."""
    return _path(room_option(command))


_path = click.argument("path", required=False, type=click.Path())
room_option = click.option(
    "--room",
    "room_id",
    metavar="ID",
    shell_complete=complete_rooms,
    help="The room, instead of the one a path leads to.",
)
path_option = click.option(
    "--path", type=click.Path(), help="A path in the workspace, instead of the current directory."
)


def period(value: str | int) -> int:
    """`30s`, `500ms`, `2m`, `1h`; a bare number counts seconds. The result is in milliseconds."""
    found = _PERIOD.fullmatch(str(value).strip())
    if not found:
        raise click.BadParameter(f"{value!r} is not a time such as 30s, 500ms or 2m.")
    return int(float(found[1]) * _UNITS[found[2] or "s"])


def json_text(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as wrong:
        raise click.BadParameter(f"this is not JSON: {wrong}.") from None


ROLES = ("examine", "review", "edit", "context", "output")
_LINES = re.compile(r"(\d+)(?:-(\d+))?")
_OPTIONS = (
    click.option("--status", help="What you did, what you learned, what is unfinished."),
    click.option("--next-action", help="What the next one should do."),
    click.option(
        "--artifact",
        "artifacts",
        multiple=True,
        metavar="PATH[:A-B][:ROLE]",
        help=f"Where to look: a path, lines, and {', '.join(ROLES)} (examine if left out). Repeatable.",
    ),
    click.option("--question", "questions", multiple=True, help="An open question. Repeatable."),
    click.option("--do-not", "do_not", multiple=True, help="Off-limits for the next one. Repeatable."),
)
stdin_option = click.option("--stdin", "from_stdin", is_flag=True, help="Read the handoff as JSON from stdin.")


def handoff_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def artifact(text: str) -> dict[str, object]:
    """`src/a.py:10-20:review`, read from its end, since a path may have colons of its own."""
    role, lines = "examine", None
    path, _, last = text.rpartition(":")
    if path and last in ROLES:
        text, role = path, last
        path, _, last = text.rpartition(":")
    if path and (found := _LINES.fullmatch(last)):
        text, lines = path, [int(found[1]), int(found[2] or found[1])]
    found_lines: dict[str, object] = {"lines": lines} if lines else {}
    return {"path": text, "role": role, **found_lines}


class HandoffWords(TypedDict):
    """What the options bring."""

    status: str | None
    next_action: str | None
    artifacts: tuple[str, ...]
    questions: tuple[str, ...]
    do_not: tuple[str, ...]


def handoff(words: HandoffWords, *, from_stdin: bool = False) -> dict[str, object]:
    """The handoff as given; what it lacks is for the hub to refuse."""
    given: dict[str, object] = {
        "status": words["status"],
        "next_action": words["next_action"],
        "artifacts": [artifact(each) for each in words["artifacts"]],
        "open_questions": list(words["questions"]),
        "do_not": list(words["do_not"]),
    }
    given = {name: value for name, value in given.items() if value is not None and value != []}
    if not from_stdin:
        return given
    if given:
        raise Usage("--stdin brings the whole handoff: leave the other flags out.")
    return _from_stdin()


def _from_stdin() -> dict[str, object]:
    try:
        found: object = json.load(sys.stdin)
    except (ValueError, RecursionError) as wrong:
        raise Usage(f"stdin is not JSON: {wrong}.") from None
    if not is_object(found):
        raise Usage("stdin must be a JSON object with status and next_action.")
    return found
