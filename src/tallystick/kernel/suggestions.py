"""What somebody may have meant by a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable


def meant(given: str, known: Iterable[str]) -> str:
    """` Did you mean '…'?` to be put behind a message, or nothing where no known name is near."""
    import difflib

    near = difflib.get_close_matches(given, list(known), n=1)
    return f" Did you mean '{near[0]}'?" if near else ""
