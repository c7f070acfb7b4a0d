"""Short words for what the tests of actions do again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tests.scene import Actor, Row


def message(action_id: str, dst: str, text: str = "do it", /, *, index: int = 0, **more: object) -> Row:
    return {
        "type": "message",
        "dst": dst,
        "action_id": action_id,
        "action_index": index,
        "kind": "user",
        "text": text,
        **more,
    }


def control(action_id: str, dst: str, command: str, /, *, index: int = 0, **more: object) -> Row:
    return {
        "type": "control",
        "dst": dst,
        "action_id": action_id,
        "action_index": index,
        "command": command,
        **more,
    }


def submit(actor: Actor, *actions: Row, group: str = "", **given: object) -> Row:
    """Submit a group whose indexes are the places of its actions; its id follows from the first one's."""
    placed = [{**action, "action_index": index} for index, action in enumerate(actions)]
    return actor.here("actions.submit", group_id=group or f"g-{actions[0]['action_id']}", actions=placed, **given)


def answer(actor: Actor, action_id: str, *statuses: str, **given: object) -> Row:
    """Send results one after the other; the last one's answer."""
    last: Row = {}
    for status in statuses:
        last = actor.here("actions.result", action_id=action_id, status=status, **given)
    return last


def pending(actor: Actor, **given: object) -> Row:
    return actor.here("actions.pending", **given)


def upcoming(actor: Actor) -> str | None:
    """The id of the action that an agent is asked to do now."""
    found = cast("Row | None", pending(actor)["next"])
    return found["action_id"] if found else None


def work_off(actor: Actor, *, status: str = "completed") -> list[str]:
    """Answer one action after the other until there is none; their ids in order."""
    done: list[str] = []
    while (action_id := upcoming(actor)) is not None:
        answer(actor, action_id, status)
        done.append(action_id)
    return done


def ids(actions: Sequence[Row]) -> list[str]:
    return [each["action_id"] for each in actions]
