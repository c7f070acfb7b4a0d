"""Refusals about rooms."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput


class RoomClosed(Conflict):
    """This room is closed: no further turns or changes are accepted. Its history stays readable."""

    hint = "Join the path again to open a new room there, or read this one's events."


class PathTaken(Conflict):
    """That path already belongs to another open room."""

    hint = "Join that room instead, or close it first."


class InvalidSequence(InvalidInput):
    """The new sequence must name every member exactly once."""

    hint = "Read the members with `tally state` and list all of them in the order you want."


class InvalidPolicy(InvalidInput):
    """These timeouts do not fit together."""

    hint = "Keep the heartbeat interval below the owner lease, and every value within its bounds."
