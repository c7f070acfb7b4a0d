"""What an owner agent said, read as Weave's relay output: JSON only, one fenced block accepted, all else is local.

Pure. What an action must hold is the hub's to judge (`actions.relay`); here it matters which kind of output it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

_FENCE = re.compile(
    r"\A(?P<fence>`{3,}|~{3,})[ \t]*(?:json|JSON)?[ \t]*\r?\n(?P<body>.*?)\r?\n?(?P=fence)\Z", re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayActions:
    """Messages and controls to be sent, in order."""

    actions: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDone:
    """The relay is over."""

    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAnswer:
    """Words for the local user, which end the relay."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """It was meant as relay output and is none; the owner is told why and may say it again."""

    why: str


Output: TypeAlias = "RelayActions | TaskDone | LocalAnswer | Malformed"


def read(text: str) -> Output:
    found = _object(text.strip())
    match found.get("type"):
        case "relay_actions":
            return _actions(found)
        case "task_done":
            return _done(found)
        case _:
            return LocalAnswer(text=text.strip())


def _object(text: str) -> dict[str, object]:
    """The JSON object that the text is, bare or as one fenced block; empty when it is anything else."""
    fenced = _FENCE.match(text)
    body = (fenced["body"] if fenced else text).strip()
    if not (body.startswith("{") and body.endswith("}")):
        return {}
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def _actions(found: Mapping[str, object]) -> RelayActions | Malformed:
    listed = found.get("actions")
    if not isinstance(listed, list) or not listed:
        return Malformed(why="relay_actions needs `actions`, a list with at least one action.")
    actions = cast("list[object]", listed)
    if not all(isinstance(each, dict) for each in actions):
        return Malformed(why="Every action is an object with type, dst and what that type needs.")
    if unknown := sorted(found.keys() - {"type", "actions"}):
        return Malformed(why=f"relay_actions has no field '{unknown[0][:80]}'.")
    return RelayActions(actions=[cast("dict[str, object]", each) for each in actions])


def _done(found: Mapping[str, object]) -> TaskDone | Malformed:
    summary = found.get("summary")
    if summary is not None and not isinstance(summary, str):
        return Malformed(why="The summary of task_done is a text.")
    if unknown := sorted(found.keys() - {"type", "summary"}):
        return Malformed(why=f"task_done has no field '{unknown[0][:80]}'.")
    return TaskDone(summary=summary)
