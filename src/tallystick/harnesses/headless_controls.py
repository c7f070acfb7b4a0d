"""Telling a harness to compact its context or to review the work at hand, as far as it can without a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tallystick.harnesses.headless import Request, Start
from tallystick.harnesses.headless_programs import PROGRAMS


class CannotDo(Exception):
    """This harness has no such command; the text says what it lacks."""


def compact(slug: str, binary: Sequence[str], request: Request) -> Start:
    """Have it shorten what it remembers of the session in `request.resume`."""
    if slug != "claude-code":
        raise CannotDo(f"{_name(slug)} cannot compact a context without a terminal; `new` starts a fresh one.")
    return PROGRAMS[slug].start(binary, replace(request, prompt="/compact"))


def review(slug: str, binary: Sequence[str], request: Request) -> Start:
    """Have it review what was changed; `request.prompt` holds instructions, if there are any."""
    match slug:
        case "claude-code":
            return PROGRAMS[slug].start(binary, replace(request, prompt=f"/review {request.prompt}".strip()))
        case "codex":
            whole = PROGRAMS[slug].start(binary, replace(request, resume=None))
            options = whole.argv[len(binary) + 1 : -1]
            # Instructions and a choice of what to look at exclude each other.
            what = "-" if request.prompt else "--uncommitted"
            return replace(whole, argv=(*binary, "exec", "review", *options, what))
        case _:
            raise CannotDo(f"{_name(slug)} has no review of its own; ask for one in a message.")


def _name(slug: str) -> str:
    return PROGRAMS[slug].command or "A plain command"
