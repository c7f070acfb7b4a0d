"""Refusals that have to do with a harness's own files."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed


class ConfigUnreadable(Conflict):
    """A configuration file of the harness cannot be read as what it should be, so it was left alone."""

    hint = "Mend the file, or move it away and let the harness write it anew; then run the command again."


class ConfigTaken(Conflict):
    """The harness has another server under our name."""

    hint = "Rename or remove that entry, then run the command again."


class ConfigUnwritable(NotAllowed):
    """A configuration file of the harness may not be written."""

    hint = "Give this user access to the file, or choose --project or --user."


class UnknownHarness(InvalidInput):
    """There is no such harness."""

    hint = "Choose claude, codex or gemini."
