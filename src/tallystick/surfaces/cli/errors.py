"""Refusals that only the command line can give."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotFound


class Usage(InvalidInput):
    """The command line cannot be understood."""

    hint = "See `tally --help`."


class NoStore(NotFound):
    """There is no store yet."""

    hint = "The first `tally join` creates it; --data-dir or TALLYSTICK_DATA_DIR point at another one."


class FileUnusable(InvalidInput):
    """The file cannot be used."""

    hint = "Name a file in a folder that exists and that you may write to or read from."


class TakeoverNeeded(Conflict):
    """The stick will not come by waiting: whoever has or expects it failed."""

    hint = 'Take it over on purpose: `tally hold --takeover "why"`.'


class NoHandoff(Conflict):
    """`tally hold` ended without a handoff; the others may take the stick over at once."""

    hint = "Answer its questions on Ctrl-C, or start it with --status and --next-action."
