"""Requests for permission in tests: short calls, and the people who answer them."""

from __future__ import annotations

from typing import cast

from tallystick.kernel.caller import SessionKind
from tests.scene import Actor, Row, Scene

OPTIONS: list[Row] = [
    {"option_id": "yes", "name": "Yes", "kind": "allow_once"},
    {"option_id": "always", "name": "Yes, for this session", "kind": "allow_always"},
    {"option_id": "no", "name": "No", "kind": "reject_once"},
]


def ask(actor: Actor, **given: object) -> Row:
    """The request as it stands right after it was made."""
    return actor.here("permissions.ask", **{"tool": "Bash", "title": "Run it", "options": OPTIONS, **given})


def run(actor: Actor, command: str) -> Row:
    return ask(actor, title=command, command=command)


def edit(actor: Actor, *paths: str) -> Row:
    return ask(actor, tool="Edit", title="Edit", paths=list(paths))


def person(scene: Scene, room_id: str, name: str = "human:eve:pts1") -> Actor:
    """Somebody at a terminal."""
    actor = scene.agent(name, session=SessionKind.HUMAN_CLI)
    actor.room_id = room_id
    return actor


def answer(actor: Actor, request: Row, decision: str, **given: object) -> Row:
    return actor.here("permissions.answer", permission=request["permission"], decision=decision, **given)


def show(actor: Actor, request: Row) -> Row:
    return actor.here("permissions.show", permission=request["permission"])


def waiting(actor: Actor) -> list[int]:
    """The numbers of what is open."""
    found = cast("list[Row]", actor.here("permissions.list")["permissions"])
    return [each["permission"] for each in found]
