"""Pure decisions of an attached agent: what to do with an action, and what to say of a run that is over."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import msgspec

from tallystick.harnesses.headless import protocol
from tallystick.harnesses.headless.protocol import HarnessAnswer, Outcome
from tallystick.kernel.json_values import is_object, list_of, object_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDelivery:
    """One action that was delivered to us."""

    action_id: str
    src: str
    context_id: str
    task_id: str
    """The task it is about, or its own id when it names none."""
    text: str = ""
    kind: str = ""
    """`user` or `reply`; empty for a control."""
    command: str = ""
    """Of a control; empty for a message."""
    steps: tuple[str, ...] = ()
    note: str = ""
    message_id: str = ""
    """The message that it is, where one was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledPermission:
    """A request for permission, as the room has it."""

    number: int
    title: str
    state: str
    by: str
    why: str
    option_id: str | None = None
    """What to choose of what the harness offers; None when that says nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredResult:
    """What became of an action of ours."""

    action_id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReplaced:
    """Another connection speaks for this agent now."""

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomOver:
    """There is nothing more to do in this room."""

    why: str


Delivery: TypeAlias = "ActionDelivery | DeliveredResult | AgentReplaced | RoomOver"


def delivery(envelope: Mapping[str, object]) -> Delivery | None:
    """What an envelope that was not asked for means to us; None when it is not our business."""
    payload = object_of(envelope.get("payload"))
    match envelope.get("type"):
        case "action.submit":
            return _action_delivery(envelope, payload)
        case "action.result":
            return DeliveredResult(action_id=_text(payload, "action_id"), status=_text(payload, "status"))
        case "agent.replaced":
            return AgentReplaced(agent=_text(payload, "id"))
        case "session.closed":
            reason = _text(payload, "reason")
            return RoomOver(why=f"{envelope.get('src')} closed the room{f': {reason}' if reason else ''}")
        case "agent.removed":
            reason = _text(payload, "reason")
            return RoomOver(why=f"{envelope.get('src')} took it out of the room{f': {reason}' if reason else ''}")
        case _:
            return None


def _action_delivery(envelope: Mapping[str, object], payload: Mapping[str, object]) -> ActionDelivery | None:
    # The bus hands over one action at a time.
    action = next(iter(list_of(payload.get("actions"))), None)
    if not is_object(action):
        return None
    plan = object_of(action.get("plan"))
    return ActionDelivery(
        action_id=_text(action, "action_id"),
        src=_text(envelope, "src"),
        context_id=_text(object_of(payload.get("context")), "context_id"),
        task_id=_text(payload, "task_id") or _text(action, "action_id"),
        text=_text(action, "text") or _text(action, "args"),
        kind=_text(action, "kind"),
        command=_text(action, "command"),
        steps=tuple(map(str, list_of(plan.get("steps")))),
        note=_text(plan, "note"),
        message_id=_text(action, "message_id"),
    )


def _text(found: Mapping[str, object], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


TRANSCRIPT_CHARS = 64 * 1024
"""How much of a conversation is told again to a program that keeps no session; the oldest goes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastExchange:
    asked: str
    answered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    session_id: str | None = None
    """The harness's session to go on with, where it keeps one."""
    exchanges: tuple[PastExchange, ...] = ()
    """What was said, for programs that keep none."""


def extended(
    context: Context, action: ActionDelivery, answer: str, session_id: str | None, *, keeps_words: bool = False
) -> Context:
    """The context after an answer: the session, or what was said; both where a session may be lost."""
    if session_id is not None and not keeps_words:
        return Context(session_id=session_id)
    said = [*context.exchanges, PastExchange(asked=asked_text(action), answered=answer)]
    return Context(session_id=session_id, exchanges=_bounded(said))


def _bounded(exchanges: Sequence[PastExchange]) -> tuple[PastExchange, ...]:
    size, kept = 0, list[PastExchange]()
    for each in reversed(exchanges):
        size += len(each.asked) + len(each.answered)
        if size > TRANSCRIPT_CHARS and kept:
            break
        kept.append(each)
    return tuple(reversed(kept))


def asked_text(action: ActionDelivery) -> str:
    """What is asked in one message, with the plan that came with it."""
    lines = [action.text]
    if action.steps:
        lines += ["", "Plan:", *(f"{number}. {step}" for number, step in enumerate(action.steps, 1))]
    if action.note:
        lines += ["", f"Note: {action.note}"]
    return "\n".join(lines)


def prompt_for(action: ActionDelivery, context: Context) -> str:
    """What the program is given: the message, and before it what was said if the program would not remember."""
    if context.session_id is not None or not context.exchanges:
        return asked_text(action)
    said = [f"{action.src} asked:\n{each.asked}\n\nYou answered:\n{each.answered}\n" for each in context.exchanges]
    return "\n".join(["What was said so far.\n", *said, f"Now {action.src} asks:\n{asked_text(action)}"])


def denial(denied: Sequence[SettledPermission]) -> str:
    """What an agent is told that was denied something: the protocol itself has no words for it."""
    lines = [
        f"You asked for permission: {each.title}. It was {each.state}{f' by {each.by}' if each.by else ''}"
        f"{f': {each.why}' if each.why else '.'}"
        for each in denied
    ]
    return "\n".join([*lines, "", "Go on with what you were asked without it, or say what you need."])


REPLY_BYTES = 60_000
"""The longest reply that is a message's text; the hub takes 64 KiB of text in an event of 256 KiB."""
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
    if action.kind == "reply":
        return ActionVerdict.NOTE
    if running or held:
        return ActionVerdict.HOLD
    match action.command, action.kind:
        case "new", _:
            return ActionVerdict.RENEW
        case "compact" | "review", _:
            return ActionVerdict.RUN
        case "", "user":
            return ActionVerdict.RUN
        case _:
            return ActionVerdict.UNKNOWN


class ActionEnding(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is to be said about an action, once it is over."""

    action: ActionDelivery = msgspec.field(name="errand")
    """The name under which journals hold it."""
    status: str
    detail: str
    reply: str | None = None
    interrupted_by: str = ""
    task_status: str = ""
    """Empty when there is nothing to say of the task."""


def ending(action: ActionDelivery, outcome: Outcome, stopped_by: str | None) -> ActionEnding:
    """What a run came to. Whoever stopped it had the last word, also when an answer came at the same moment."""
    if stopped_by is not None:
        detail = f"interrupted by {stopped_by}"
        return ActionEnding(
            action=action, status="error", detail=detail, interrupted_by=stopped_by, task_status="ready"
        )
    if not isinstance(outcome, HarnessAnswer):
        why = _cut(clean(outcome.why), SUMMARY_BYTES)
        return ActionEnding(action=action, status="error", detail=why, task_status="blocked")
    text = clean(outcome.text.strip())
    detail = protocol.one_line(text) or "done, without a word"
    if action.command == "compact":
        return ActionEnding(action=action, status="completed", detail=detail)
    reply = (text or detail) if action.kind == "user" else None
    if action.command:
        # A control has no reply; what the review found is all there is to say.
        detail = _cut(text or detail, DETAIL_BYTES)
    return ActionEnding(action=action, status="completed", detail=detail, reply=reply, task_status="done")


def abandoned(action: ActionDelivery) -> ActionEnding:
    """For what we had accepted in an earlier life and never finished: it is not run a second time."""
    why = "the agent was ended while it worked on this; ask again if it is still wanted"
    return ActionEnding(action=action, status="error", detail=why, task_status="ready")


def too_long(text: str) -> bool:
    """Whether a reply is longer than a message may be."""
    return len(text.encode()) > _message_bytes(text)


def beginning(text: str) -> str:
    """As much of such a reply as a message holds; the whole of it goes with the message."""
    return _cut(text, _message_bytes(text), "are in the attached file")


def _message_bytes(text: str) -> int:
    escaped = len(json.dumps(text, ensure_ascii=False)) > 2 * len(text)
    return ESCAPED_BYTES if escaped else REPLY_BYTES


def clean(text: str) -> str:
    """Without what no store keeps: halves of characters, and the character that ends texts elsewhere."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _cut(text: str, limit: int, rest: str = "were left out") -> str:
    """At most so many bytes of it, and how much more there was."""
    whole = text.encode()
    if len(whole) <= limit:
        return text
    kept = whole[:limit].decode("utf-8", "ignore")
    return f"{kept}\n… ({len(text) - len(kept)} more characters {rest})"
