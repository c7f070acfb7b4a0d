"""Refusals that have to do with the files of a harness or of a git repository."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed, NotFound


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


class StarterGone(Conflict):
    """The program that started this server is gone, so nobody stands behind it: it joins and holds nothing."""

    hint = "Start the server from the program that uses it, or name the agent with TALLYSTICK_AGENT."


class NoRepository(NotFound):
    """This is not a git repository with a working tree."""

    hint = "Run the command inside the repository that is to be guarded."


class GuardInTheWay(Conflict):
    """A hook was set aside before and another has taken its place since."""

    hint = "Run `tally guard uninstall`, look at the hooks that are there, and install the guard again."
