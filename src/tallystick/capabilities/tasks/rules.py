"""Pure decisions about tasks, cards and anchors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from tallystick.capabilities.tasks.contract import UpdateAnchor, UpdateCard, UpdateTask
from tallystick.capabilities.tasks.errors import CardMovedOn, NothingToChange, TaskMovedOn
from tallystick.capabilities.tasks.model import Card, Task

_NOT_A_VALUE = {"room_id", "task", "card", "expected_revision"}
_NEVER_NONE = ("title", "description", "definition_of_done", "steps", "status", "paths", "refs")
DONE = (
    "What was asked for is there, and a card or file says what changed.",
    "The proof is named: a receipt (CMD: or LINK:) or a thing that can be opened.",
)
"""What done means where nobody said it."""
STEPS = ("Run what proves it and keep the receipt.",)

_SLUG = re.compile(r"[^a-z0-9]+")


def task_changes(task: Task, ask: UpdateTask) -> dict[str, object]:
    """The fields that were given; an assignee, anchor or summary of null takes it away."""
    if ask.expected_revision not in {None, task.revision}:
        raise TaskMovedOn(
            f"{task.task_id} is at revision {task.revision}, not {ask.expected_revision}.", revision=task.revision
        )
    given = ask.to_data(without=_NOT_A_VALUE)
    return _something({name: value for name, value in given.items() if value is not None or name not in _NEVER_NONE})


def card_changes(card: Card, ask: UpdateCard) -> dict[str, object]:
    if ask.expected_revision not in {None, card.revision}:
        raise CardMovedOn(
            f"{card.card_id} is at revision {card.revision}, not {ask.expected_revision}.", revision=card.revision
        )
    given = ask.present(without=_NOT_A_VALUE)
    if "tags" in given:
        given["tags"] = tags(given["tags"])
    return _something(given)


def anchor_changes(ask: UpdateAnchor) -> dict[str, object]:
    return _something(ask.present(without={"room_id", "anchor"}))


def _something(changes: dict[str, object]) -> dict[str, object]:
    if not changes:
        raise NothingToChange
    return changes


def tags(given: list[str]) -> list[str]:
    """Each tag once, in a stable order."""
    return sorted(set(given))


def anchor_for(title: str) -> str:
    """The anchor that a title suggests: what stands before its colon, as a slug."""
    plain = unicodedata.normalize("NFKD", title.partition(":")[0]).encode("ascii", "ignore").decode()
    slug = _SLUG.sub("-", plain.lower()).strip("-")[:64].rstrip("-")
    return f"a:{slug or 'work'}"


def cockpit(task_id: str, description: str, done: Sequence[str]) -> str:
    """The frame that everybody who joins the task reads first."""
    wanted = "\n".join(f"- {line}" for line in done)
    about = f"{description.strip()}\n\n" if description.strip() else ""
    return f"{about}Done means:\n{wanted}\n\nTask: {task_id}\n"


def delegated_prompt(task_id: str, card_id: str, title: str, description: str, done: Sequence[str]) -> str:
    wanted = "\n".join(f"- {line}" for line in done)
    about = f"\n{description.strip()}" if description.strip() else ""
    return (
        f"WORK\n{title}{about}\n\nDONE MEANS\n{wanted}\n\nCONTEXT\nTask {task_id}, frame {card_id}.\n\n"
        "OUTPUT\nKeep what you find in cards or files. "
        "End with what changed, what you ran to verify it, and what is still open."
    )


def fanout_title(anchor: str, prefix: str | None, task_title: str | None) -> str:
    if prefix:
        return f"{prefix} — {anchor}"
    return f"{anchor} — {task_title}"[:200] if task_title else anchor
