"""Pure decisions about tasks, cards and anchors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TypeVar

from msgspec import UNSET, UnsetType

from tallystick.capabilities.tasks.contract import UpdateAnchor, UpdateCard, UpdateTask
from tallystick.capabilities.tasks.events import AnchorUpdated, CardUpdated, TaskState, TaskStep, TaskUpdated
from tallystick.capabilities.tasks.model import Card, Task
from tallystick.kernel.envelope import Body
from tallystick.kernel.errors import Conflict, InvalidInput, NotFound
from tallystick.kernel.hints import known, step

T = TypeVar("T")
BodyT = TypeVar("BodyT", bound=Body)
DONE = (
    "What was asked for is there, and a card or file says what changed.",
    "The proof is named: a receipt (CMD: or LINK:) or a thing that can be opened.",
)
"""What done means where nobody said it."""
STEPS = ("Run what proves it and keep the receipt.",)

_SLUG = re.compile(r"[^a-z0-9]+")


class UnknownTask(NotFound):
    """There is no such task in this room."""

    hint = f"{step('tasks.list')} lists those there are."


class UnknownCard(NotFound):
    """There is no such card in this room."""

    hint = f"{step('cards.list')} lists those there are."


class UnknownAnchor(NotFound):
    """There is no such anchor in this room."""

    hint = (
        f"{step('anchors.list')} lists those there are; "
        f"{step('anchors.create', anchor=known('anchor', otherwise='a:name'), title='…')} makes one."
    )


class AnchorExists(Conflict):
    """That anchor is there already."""

    hint = "Change it, or just use it."


class TaskMovedOn(Conflict):
    """The task was changed since you looked."""

    hint = f"Look again with {step('tasks.show', task=known('task', 'task_id', otherwise='TASK-001'))} and decide anew."


class CardMovedOn(Conflict):
    """The card was changed since you looked."""

    hint = f"Look again with {step('cards.show', card=known('card', 'card_id', otherwise='CARD-001'))} and decide anew."


class NothingToChange(InvalidInput):
    """The request names nothing to change."""

    hint = "Give at least one field besides the id."


def task_changes(task: Task, ask: UpdateTask) -> TaskUpdated:
    """The fields that were given; an assignee, anchor or summary of null takes it away."""
    if ask.expected_revision not in {None, task.revision}:
        raise TaskMovedOn(
            f"{task.task_id} is at revision {task.revision}, not {ask.expected_revision}.", revision=task.revision
        )
    steps = None if ask.steps is None else [TaskStep(text=step.text, done=step.done) for step in ask.steps]
    return _something(
        TaskUpdated(
            task_id=task.task_id,
            title=_given(ask.title),
            description=_given(ask.description),
            definition_of_done=_given(ask.definition_of_done),
            steps=_given(steps),
            status=UNSET if ask.status is None else TaskState(ask.status),
            assignee=ask.assignee,
            anchor=ask.anchor,
            paths=_given(ask.paths),
            refs=_given(ask.refs),
            summary=ask.summary,
        )
    )


def card_changes(card: Card, ask: UpdateCard) -> CardUpdated:
    if ask.expected_revision not in {None, card.revision}:
        raise CardMovedOn(
            f"{card.card_id} is at revision {card.revision}, not {ask.expected_revision}.", revision=card.revision
        )
    return _something(
        CardUpdated(
            card_id=card.card_id,
            title=_given(ask.title),
            body=_given(ask.body),
            type=_given(ask.type),
            tags=UNSET if ask.tags is None else tags(ask.tags),
            refs=_given(ask.refs),
            pinned=_given(ask.pinned),
        )
    )


def anchor_changes(ask: UpdateAnchor) -> AnchorUpdated:
    return _something(AnchorUpdated(anchor_id=ask.anchor, title=_given(ask.title), paths=_given(ask.paths)))


def _given(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value


def _something(update: BodyT) -> BodyT:
    """Refuse an update that changes nothing: beside the id, which comes first, no field has a value."""
    if all(getattr(update, name) is UNSET for name in update.__struct_fields__[1:]):
        raise NothingToChange
    return update


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
