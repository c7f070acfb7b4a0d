"""What an owner agent is told while it relays a task: how to speak, whom it can reach, and what came of its actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

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
    for each in cast("list[Mapping[str, object]]", found.get("actions") or []):
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
