"""Pure decisions of an attached agent: what to do with an action, and what to say of a run that is over."""

from __future__ import annotations

import json
from enum import StrEnum

import msgspec

from tallystick.harnesses.headless import protocol
from tallystick.harnesses.headless.protocol import HarnessAnswer, Outcome
from tallystick.runtime.model import ActionDelivery

REPLY_BYTES = 60_000
"""The longest reply that is sent; the hub takes 64 KiB of text in an event of 256 KiB."""
ESCAPED_BYTES = 30_000
"""The longest one in which so much has to be escaped that the event would not hold it."""
SUMMARY_BYTES = 1900
DETAIL_BYTES = 16_000
STEP_LIMIT = 200
"""So many steps of one run are reported."""


class ActionVerdict(StrEnum):
    RUN = "run"
    """Start the program for it."""
    HOLD = "hold"
    """Later, when what runs now is over. It stays unanswered until then, so nothing is lost if we die."""
    STOP = "stop"
    """Stop what runs."""
    RENEW = "renew"
    """Forget the conversation's context."""
    NOTE = "note"
    """Nothing to do but to say that it arrived."""
    IDLE = "idle"
    """An interrupt, and nothing runs."""
    UNKNOWN = "unknown"
    DROP = "drop"
    """We have it already."""


def verdict(action: ActionDelivery, *, running: ActionDelivery | None, held: bool, known: bool) -> ActionVerdict:
    """`held` says that something came before and waits; `known` that this very action was taken up before."""
    if known:
        return ActionVerdict.DROP
    if action.command == "interrupt":
        return ActionVerdict.STOP if running else ActionVerdict.IDLE
    if running or held:
        return ActionVerdict.HOLD
    match action.command, action.kind:
        case "new", _:
            return ActionVerdict.RENEW
        case "compact" | "review", _:
            return ActionVerdict.RUN
        case "", "user":
            return ActionVerdict.RUN
        case "", "reply":
            return ActionVerdict.NOTE
        case _:
            return ActionVerdict.UNKNOWN


class ActionEnding(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is to be said about an action, once it is over."""

    action: ActionDelivery = msgspec.field(name="errand")
    """The name under which journals hold it."""
    status: str
    detail: str
    reply: str | None = None
    task_status: str = ""
    """Empty when there is nothing to say of the task."""


def ending(action: ActionDelivery, outcome: Outcome, stopped_by: str | None) -> ActionEnding:
    """What a run came to. Whoever stopped it had the last word, also when an answer came at the same moment."""
    if stopped_by is not None:
        return ActionEnding(action=action, status="error", detail=f"interrupted by {stopped_by}", task_status="ready")
    if not isinstance(outcome, HarnessAnswer):
        why = _cut(clean(outcome.why), SUMMARY_BYTES)
        return ActionEnding(action=action, status="error", detail=why, task_status="blocked")
    text = clean(outcome.text.strip())
    detail = protocol.one_line(text) or "done, without a word"
    if action.command == "compact":
        return ActionEnding(action=action, status="completed", detail=detail)
    reply = _reply(text or detail) if action.kind == "user" else None
    if action.command:
        # A control has no reply; what the review found is all there is to say.
        detail = _cut(text or detail, DETAIL_BYTES)
    return ActionEnding(action=action, status="completed", detail=detail, reply=reply, task_status="done")


def abandoned(action: ActionDelivery) -> ActionEnding:
    """For what we had accepted in an earlier life and never finished: it is not run a second time."""
    why = "the agent was ended while it worked on this; ask again if it is still wanted"
    return ActionEnding(action=action, status="error", detail=why, task_status="ready")


def _reply(text: str) -> str:
    escaped = len(json.dumps(text, ensure_ascii=False)) > 2 * len(text)
    return _cut(text, ESCAPED_BYTES if escaped else REPLY_BYTES)


def clean(text: str) -> str:
    """Without what no store keeps: halves of characters, and the character that ends texts elsewhere."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _cut(text: str, limit: int) -> str:
    """At most so many bytes of it, and how much more there was."""
    whole = text.encode()
    if len(whole) <= limit:
        return text
    kept = whole[:limit].decode("utf-8", "ignore")
    return f"{kept}\n… ({len(text) - len(kept)} more characters were left out)"
