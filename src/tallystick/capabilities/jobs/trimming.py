"""Making a radar fit a budget: what helps least to get on goes first, and the most urgent job never goes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from tallystick.capabilities.jobs import lines
from tallystick.capabilities.jobs.radar_contract import Radar, ShowRadar
from tallystick.kernel.operation import Answer

_ORDER = (("jobs", 1), ("runner_leases", 0), ("runner_leases_offline", 0), ("runner_diagnostics", 0))
"""What is cut from its end, one list after the other, and how much of it stays."""


def fitted(ask: ShowRadar, found: Radar) -> Radar:
    """The radar within max_chars, with its lines where they were asked for."""
    size = _text_size if ask.fmt == "lines" else _json_size
    if ask.max_chars is not None and size(ask, found) > ask.max_chars:
        found = _trimmed(ask, found, ask.max_chars)
    if ask.fmt == "lines":
        found = structs.replace(found, text=lines.radar(ask, found))
    return found


def _text_size(ask: ShowRadar, found: Radar) -> int:
    return len(lines.radar(ask, found))


def _json_size(ask: ShowRadar, found: Radar) -> int:
    return len(found.to_json().decode())


def _trimmed(ask: ShowRadar, found: Radar, max_chars: int) -> Radar:
    size = _text_size if ask.fmt == "lines" else _json_size
    found = structs.replace(found, truncated=True)
    for name, least in _ORDER:
        every: Sequence[Answer] = getattr(found, name)
        low, high = min(least, len(every)), len(every)
        # The most that fits, found by halving: writing a radar out is what costs.
        while low < high:
            middle = (low + high + 1) // 2
            fits = size(ask, _cut(found, name, every[:middle])) <= max_chars
            low, high = (middle, high) if fits else (low, middle - 1)
        if low < len(every):
            found = _cut(found, name, every[:low])
    if found.runner_bootstrap and size(ask, found) > max_chars:
        found = structs.replace(found, runner_bootstrap=None)
    return found


def _cut(found: Radar, name: str, kept: Sequence[Answer]) -> Radar:
    changes: dict[str, object] = {name: kept}
    if name == "jobs":
        changes |= {"count": len(kept), "has_more": True}
    return structs.replace(found, **changes)
