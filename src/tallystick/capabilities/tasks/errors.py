"""Refusals about tasks, cards and anchors."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotFound


class UnknownTask(NotFound):
    """There is no such task in this room."""

    hint = "List the tasks with tasks.list."


class UnknownCard(NotFound):
    """There is no such card in this room."""

    hint = "List the cards with cards.list."


class UnknownAnchor(NotFound):
    """There is no such anchor in this room."""

    hint = "List the anchors with anchors.list, or make it with anchors.create."


class AnchorExists(Conflict):
    """That anchor is there already."""

    hint = "Change it with anchors.update, or just use it."


class TaskMovedOn(Conflict):
    """The task was changed since you looked."""

    hint = "Look again with tasks.show and decide anew."


class CardMovedOn(Conflict):
    """The card was changed since you looked."""

    hint = "Look again with cards.show and decide anew."


class NothingToChange(InvalidInput):
    """The request names nothing to change."""

    hint = "Give at least one field besides the id."
