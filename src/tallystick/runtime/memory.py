"""What an attached agent remembers of a conversation: the harness's own session, or else what was said so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tallystick.runtime.model import Errand

TRANSCRIPT_CHARS = 64 * 1024
"""How much of a conversation is told again to a program that keeps no session; the oldest goes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    asked: str
    answered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    session_id: str | None = None
    """The harness's session to go on with, where it keeps one."""
    exchanges: Sequence[Exchange] = ()
    """What was said, for programs that keep none."""


def grown(context: Context, errand: Errand, answer: str, session_id: str | None) -> Context:
    """The context after an answer."""
    if session_id is not None:
        return Context(session_id=session_id)
    return replace(context, exchanges=_bounded([*context.exchanges, Exchange(asked=asked(errand), answered=answer)]))


def _bounded(exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
    size, kept = 0, list[Exchange]()
    for each in reversed(exchanges):
        size += len(each.asked) + len(each.answered)
        if size > TRANSCRIPT_CHARS and kept:
            break
        kept.append(each)
    return tuple(reversed(kept))


def asked(errand: Errand) -> str:
    """What is asked in one message, with the plan that came with it."""
    lines = [errand.text]
    if errand.steps:
        lines += ["", "Plan:", *(f"{number}. {step}" for number, step in enumerate(errand.steps, 1))]
    if errand.note:
        lines += ["", f"Note: {errand.note}"]
    return "\n".join(lines)


def prompt(errand: Errand, context: Context) -> str:
    """What the program is given: the message, and before it what was said if the program would not remember."""
    if context.session_id is not None or not context.exchanges:
        return asked(errand)
    said = [f"{errand.src} asked:\n{each.asked}\n\nYou answered:\n{each.answered}\n" for each in context.exchanges]
    return "\n".join(["What was said so far.\n", *said, f"Now {errand.src} asks:\n{asked(errand)}"])
