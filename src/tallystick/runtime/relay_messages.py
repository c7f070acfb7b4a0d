"""What an owner agent says while it relays a task, read as Weave's relay output, and what it is told in return.

Pure. Its output is JSON only, one fenced block accepted, all else is local. What an action must hold is the hub's to
judge (`actions.relay`); here it matters which kind of output it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tallystick.kernel.json_values import list_of, object_of, objects_of

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


def read_output(text: str) -> Output:
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
    return object_of(found)


def _actions(found: Mapping[str, object]) -> RelayActions | Malformed:
    listed = list_of(found.get("actions"))
    if not listed:
        return Malformed(why="relay_actions needs `actions`, a list with at least one action.")
    actions = objects_of(listed)
    if len(actions) < len(listed):
        return Malformed(why="Every action is an object with type, dst and what that type needs.")
    if unknown := sorted(found.keys() - {"type", "actions"}):
        return Malformed(why=f"relay_actions has no field '{unknown[0][:80]}'.")
    return RelayActions(actions=actions)


def _done(found: Mapping[str, object]) -> TaskDone | Malformed:
    summary = found.get("summary")
    if summary is not None and not isinstance(summary, str):
        return Malformed(why="The summary of task_done is a text.")
    if unknown := sorted(found.keys() - {"type", "summary"}):
        return Malformed(why=f"task_done has no field '{unknown[0][:80]}'.")
    return TaskDone(summary=summary)


SPEAK = """\
You are {owner}, and you own this task. You do not do the work yourself: you have other agents do it and decide what
comes next. After each of your answers you are told what they said.

Answer with one JSON object and nothing else, in one of two forms.

To have something done:
{{"type":"relay_actions","actions":[ACTION,...]}}
where an ACTION is a message to one agent, with a plan if you have one:
{{"type":"message","dst":"NAME","text":"what you want","plan":{{"steps":["first","then"],"note":"keep in mind"}}}}
or a control:
{{"type":"control","dst":"NAME","command":"new"}}
The commands are new (forget what was said and start afresh), compact (shorten the context), interrupt (stop what runs)
and review (look at the changes; "args" may say what to look for). Actions for one agent are carried out in the order of
the list, so a control comes before the message it is meant for.

To end, with a summary for the user:
{{"type":"task_done","summary":"what came of it"}}

Anything that is not such an object counts as your answer to the user and ends the task.
"""


def opening(owner: str, agents: Sequence[Mapping[str, object]], task: str) -> str:
    """The first prompt."""
    others = [each for each in agents if each.get("id") != owner]
    listed = [f"- {_named(each)}" for each in others] or ["- nobody yet"]
    return "\n".join([SPEAK.format(owner=owner), "The agents of this room:", *listed, "", "The task:", task])


def _named(agent: Mapping[str, object]) -> str:
    name = f" ({agent['name']})" if agent.get("name") and agent.get("name") != agent.get("id") else ""
    return f"{agent.get('id')}{name}, {agent.get('status')}"


def outcomes(found: Mapping[str, object], turns_left: int) -> str:
    """What came of a turn's actions, in their order."""
    lines = ["This is what came of your actions."]
    for each in objects_of(found.get("actions")):
        lines += ["", f"{each.get('dst')}: {each.get('status')}{_why(each)}"]
        if each.get("reply"):
            lines.append(str(each["reply"]))
        if each.get("data"):
            lines.append(f"It also said: {each['data']}")
    return "\n".join([*lines, "", _left(turns_left)])


def correction(why: str, hint: str, turns_left: int) -> str:
    """For output that could not be carried out: nothing of it was sent."""
    return "\n".join([f"Nothing was sent: {why}", *([hint] if hint else []), "", _left(turns_left)])


def _why(each: Mapping[str, object]) -> str:
    # A reply says it better than its own first line.
    return f", {each['detail']}" if each.get("detail") and not each.get("reply") else ""


def _left(turns: int) -> str:
    if turns == 1:
        return "This is your last turn: end with task_done."
    return f"Answer with relay_actions or task_done. {turns} turns are left."
