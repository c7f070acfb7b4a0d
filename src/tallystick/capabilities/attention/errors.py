"""Refusals about the person's list."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, NotFound
from tallystick.kernel.hints import step


class ItemNotWaiting(NotFound):
    """That does not wait for the person, or no longer."""

    hint = f"{step('attention.list')} shows what does."


class ItemBlocks(Conflict):
    """Agents wait until that is settled, so it cannot be dismissed."""

    hint = "Settle it, or snooze it: it comes back by itself."
