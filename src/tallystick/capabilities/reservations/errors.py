"""Refusals about reservations. Those about somebody else's say who holds what, and until when."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, NotAllowed, NotFound


class ReservationConflict(Conflict):
    """Another active agent has reserved that path, or part of it."""

    hint = "Ask its holder with messages.send, reserve something else, or ask for a shared reservation (mode: shared)."


class ReservationStale(Conflict):
    """An agent that has fallen silent still has that path reserved."""

    hint = "Look at its uncommitted work first; then reserve again with takeover_stale to take its place."


class ReservationLost(Conflict):
    """You no longer hold that reservation."""

    hint = "Stop editing that path; reserve it again if you still need it."


class NotYourReservation(NotAllowed):
    """That reservation belongs to somebody else."""

    hint = "Ask its holder to release it; reservations.status lists what you hold yourself."


class ReservationNotFound(NotFound):
    """There is no such reservation in this room."""

    hint = "List the present ones with reservations.status."
