"""Refusals about reservations. Those about somebody else's say who holds what, and until when."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, NotAllowed, NotFound
from tallystick.kernel.hints import known, step

HOLDER = known("held_by", otherwise="NAME")
PATH = known("path", otherwise="PATH")


class ReservationConflict(Conflict):
    """Another active agent has reserved that path, or part of it."""

    hint = (
        f"Ask its holder with {step('messages.send', to=[HOLDER], text='…')}, or work on something else: "
        f"{step('reservations.status')} shows what is taken."
    )


class ReservationStale(Conflict):
    """An agent that has fallen silent still has that path reserved."""

    hint = (
        "Look at its uncommitted work first; then take its place with "
        f"{step('reservations.reserve', path=PATH, takeover_stale=True)}."
    )


class ReservationLost(Conflict):
    """You no longer hold that reservation."""

    hint = f"Stop editing that path. If you still need it: {step('reservations.reserve', path=PATH)}."


class NotYourReservation(NotAllowed):
    """That reservation belongs to somebody else."""

    hint = f"Ask its holder to release it: {step('reservations.status')} shows who holds what."


class ReservationNotFound(NotFound):
    """There is no such reservation in this room."""

    hint = f"{step('reservations.status')} lists those there are."
