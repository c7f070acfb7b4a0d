"""Refusals about rooms."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput
from tallystick.kernel.hints import step


class PathTaken(Conflict):
    """That path already belongs to another open room."""

    hint = f"Join that room instead with {step('rooms.join')}, or close it first."


class InvalidSequence(InvalidInput):
    """The new sequence must name every member exactly once."""

    hint = f"{step('turns.state')} lists the members: name all of them in the order you want."


class InvalidPolicy(InvalidInput):
    """These timeouts do not fit together."""

    hint = "Keep the heartbeat interval below the owner lease, and every value within its bounds."
