"""Refusals that only the page can give."""

from __future__ import annotations

from tallystick.kernel.errors import NotFound


class PageNotFound(NotFound):
    """There is no such page."""

    hint = "Go to the overview at / and choose a room there."
