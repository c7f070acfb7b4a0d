"""What comes from the bus, in the runtime's own words; nothing else of the runtime knows an envelope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
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
    steps: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resulted:
    """What became of an action of ours."""

    action_id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """Another connection speaks for this agent now."""

    agent: str


Delivery: TypeAlias = "Errand | Resulted | Replaced"


def delivery(envelope: Mapping[str, object]) -> Delivery | None:
    """What an envelope that was not asked for means to us; None when it is not our business."""
    payload = _part(envelope, "payload")
    match envelope.get("type"):
        case "action.submit":
            return _errand(envelope, payload)
        case "action.result":
            return Resulted(action_id=_text(payload, "action_id"), status=_text(payload, "status"))
        case "agent.replaced":
            return Replaced(agent=_text(payload, "id"))
        case _:
            return None


def _errand(envelope: Mapping[str, object], payload: Mapping[str, object]) -> Errand | None:
    listed = payload.get("actions")
    # The bus hands over one action at a time.
    if not isinstance(listed, list) or not listed or not isinstance(listed[0], dict):
        return None
    action = cast("dict[str, object]", listed[0])
    plan = _part(action, "plan")
    steps = plan.get("steps")
    return Errand(
        action_id=_text(action, "action_id"),
        src=_text(envelope, "src"),
        context_id=_text(_part(payload, "context"), "context_id"),
        task_id=_text(payload, "task_id") or _text(action, "action_id"),
        text=_text(action, "text") or _text(action, "args"),
        kind=_text(action, "kind"),
        command=_text(action, "command"),
        steps=tuple(map(str, cast("list[object]", steps))) if isinstance(steps, list) else (),
        note=_text(plan, "note"),
    )


def _part(found: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = found.get(name)
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _text(found: Mapping[str, object], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""
