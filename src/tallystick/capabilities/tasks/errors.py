"""Refusals about tasks, cards and anchors."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotFound
from tallystick.kernel.hints import known, step


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
