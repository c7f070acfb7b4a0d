"""What comes from the bus, in the runtime's own types, and the context of a conversation.

Nothing else in the runtime knows an envelope. A context is the harness's own session, or else what was said so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredResult:
    """What became of an action of ours."""

    action_id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReplaced:
    """Another connection speaks for this agent now."""

    agent: str


Delivery: TypeAlias = "ActionDelivery | DeliveredResult | AgentReplaced"


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


def extended(context: Context, action: ActionDelivery, answer: str, session_id: str | None) -> Context:
    """The context after an answer."""
    if session_id is not None:
        return Context(session_id=session_id)
    return replace(
        context, exchanges=_bounded([*context.exchanges, PastExchange(asked=asked_text(action), answered=answer)])
    )


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
