"""What somebody may have meant by a name that is not there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(given: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name that is most like the given one; None where none is near."""
    import difflib  # Here: only a misspelt name needs it.

    near = difflib.get_close_matches(given, list(known), n=1, cutoff=cutoff)
    return near[0] if near else None


def did_you_mean(given: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """` Did you mean '…'?` to be put behind a message, or nothing where no known name is near."""
    near = nearest(given, known, cutoff=cutoff)
    return f" Did you mean '{near}'?" if near else ""
