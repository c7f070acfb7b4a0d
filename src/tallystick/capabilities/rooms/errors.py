"""Refusals about rooms."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput


class PathTaken(Conflict):
    """That path already belongs to another open room."""

    hint = "Join that room instead, or close it first."


class InvalidSequence(InvalidInput):
    """The new sequence must name every member exactly once."""

    hint = "Read the members with `tally state` and list all of them in the order you want."


class InvalidPolicy(InvalidInput):
    """These timeouts do not fit together."""

    hint = "Keep the heartbeat interval below the owner lease, and every value within its bounds."
