"""The relay: an owner agent's output becomes actions, what comes of them becomes its next prompt, until it is done.

It ends by what the owner says, by an interrupt, or by a count of turns; never by time.
"""

from __future__ import annotations

import json
import queue
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from tallystick.harnesses.headless.protocol import HarnessAnswer, Outcome
from tallystick.kernel.errors import Refused, TallyError
from tallystick.kernel.ids import new_id
from tallystick.kernel.json_values import list_of, object_of, objects_of
from tallystick.runtime import rules
from tallystick.runtime.program import AgentEngine, ProgramExited, ProgramStepped, Run, SessionBegan
from tallystick.runtime.room_connection import ActionReports, RoomConnection, Tell
from tallystick.runtime.rules import ActionDelivery, Context, Delivery, RoomOver

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


WAIT_MS = 30_000
"""One look at what came of a turn lasts this long; there is no limit to how often it is taken."""
SUMMARY_CHARS = 16_000


class RelayEndReason(StrEnum):
    """How a relay ended."""

    DONE = "done"
    LOCAL = "local"
    """The owner spoke to the user instead of the others."""
    TURNS = "turns"
    """It had all its turns."""
    FAILED = "failed"
    """The owner's own program gave no answer."""
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayEnd:
    why: RelayEndReason
    text: str
    turns: int


Heard: TypeAlias = "queue.SimpleQueue[Mapping[str, object] | TallyError]"


class TaskRelay:
    def __init__(
        self,
        *,
        line: RoomConnection,
        engine: AgentEngine,
        tell: Tell,
        max_turns: int,
    ) -> None:
        self._line, self._engine, self._tell, self._max_turns = line, engine, tell, max_turns
        self._reports = ActionReports(line, tell)
        self._me = ActionDelivery(action_id=new_id(), src="user", context_id=new_id(), task_id="", kind="user")
        self._context = Context()
        self._opened = False
        self._run: Run | None = None
        self._stopped_by: str | None = None
        self._lock = threading.Lock()
        self._heard: Heard = queue.SimpleQueue()

    def run(self, task: str) -> RelayEnd:
        agents = objects_of(self._line.ask("agent.list", {})["agents"])
        prompt = opening(self._line.agent, agents, task)
        for turn in range(1, self._max_turns + 1):
            outcome = self._think(prompt)
            if self._stopped_by:
                return self._end(
                    RelayEnd(why=RelayEndReason.INTERRUPTED, text=f"interrupted by {self._stopped_by}", turns=turn)
                )
            if not isinstance(outcome, HarnessAnswer):
                return self._end(RelayEnd(why=RelayEndReason.FAILED, text=outcome.why, turns=turn))
            self._context = rules.extended(self._context, self._asked(prompt), outcome.text.strip(), outcome.session_id)
            left = self._max_turns - turn
            match read_output(outcome.text):
                case TaskDone(summary=summary):
                    return self._end(RelayEnd(why=RelayEndReason.DONE, text=summary or "done", turns=turn))
                case LocalAnswer(text=text):
                    return self._end(RelayEnd(why=RelayEndReason.LOCAL, text=text, turns=turn))
                case Malformed(why=why):
                    self._tell(f"said what cannot be sent: {why}")
                    prompt = correction(why, "", left)
                case RelayActions(actions=actions):
                    prompt = self._send(actions, left)
            if self._stopped_by:
                return self._end(
                    RelayEnd(why=RelayEndReason.INTERRUPTED, text=f"interrupted by {self._stopped_by}", turns=turn)
                )
        return self._end(
            RelayEnd(why=RelayEndReason.TURNS, text=f"ended after {self._max_turns} turns", turns=self._max_turns)
        )

    def stop(self, by: str) -> None:
        """End it, whether the owner thinks or the others are at work; they go on with what they have."""
        with self._lock:
            self._stopped_by = by
            if self._run:
                self._run.stop()
            self._heard.put({})

    def brought(self, delivery: Delivery) -> None:
        """Whoever relays takes replies and interrupts, and nothing else."""
        if isinstance(delivery, RoomOver):
            self.stop(delivery.why)
        if not isinstance(delivery, ActionDelivery):
            return
        if delivery.command == "interrupt":
            self._tell(f"{delivery.src} interrupts")
            try:
                # Before it ends: the program exits then, and whoever interrupted would wait for a result for ever.
                self._reports.result(delivery, "completed", "the relay ends")
            finally:
                self.stop(delivery.src)
        elif delivery.kind == "reply":
            self._tell(f"{delivery.src} replied: {delivery.text}")
        else:
            self._reports.result(delivery, "rejected", f"{self._line.agent} relays a task and takes no other work")

    def _asked(self, prompt: str) -> ActionDelivery:
        return replace(self._me, text=prompt)

    def _think(self, prompt: str) -> Outcome:
        """One run of the owner's program."""
        heard: queue.SimpleQueue[ProgramExited | ProgramStepped | SessionBegan] = queue.SimpleQueue()
        with self._lock:
            self._run = run = self._engine.begin(self._asked(prompt), self._context, heard.put)
            if self._stopped_by:
                run.stop()
        while not isinstance(event := heard.get(), ProgramExited):
            if isinstance(event, ProgramStepped):
                self._tell(event.step.text)
        with self._lock:
            self._run = None
        return run.outcome()

    def _send(self, actions: Sequence[Mapping[str, object]], left: int) -> str:
        """Have it done, and wait until all of it is settled; the owner's next prompt."""
        given: dict[str, object] = {"actions": list(actions), "context_id": self._me.context_id}
        try:
            relayed = self._line.ask("actions.relay", given, key=new_id())
        except Refused as refused:
            self._tell(f"said what was refused: {refused.message}")
            return correction(refused.message, refused.advice, left)
        self._opened = True
        away = self._away()
        for action, place in zip(actions, objects_of(relayed["actions"]), strict=True):
            when = ", which is not connected: it waits until that comes" if place["dst"] in away else ""
            self._tell(f"to {place['dst']}{when}: {action.get('text') or action.get('command')}")
        ask = {"group_id": relayed["group_id"], "max_wait_ms": WAIT_MS}
        found = self._settled(ask)
        for each in objects_of(found.get("actions")):
            self._tell(f"{each['dst']}: {each['status']} {each['detail'] or ''}")
        return outcomes(found, left)

    def _away(self) -> set[object]:
        """Who is not connected: there is no limit to how long an answer of theirs is waited for."""
        agents = objects_of(self._line.ask("agent.list", {})["agents"])
        return {each["id"] for each in agents if each.get("status") != "online"}

    def _settled(self, ask: Mapping[str, object]) -> Mapping[str, object]:
        """What came of a group once all of it is settled; nothing when somebody ends the relay before."""
        heard: Heard = queue.SimpleQueue()

        def wait() -> None:
            try:
                while not (found := self._line.ask("actions.outcomes", ask))["settled"]:
                    pass
                heard.put(found)
            except TallyError as wrong:
                heard.put(wrong)

        with self._lock:
            self._heard = heard
            if self._stopped_by:
                return {}
        threading.Thread(target=wait, daemon=True).start()
        answer = heard.get()
        if isinstance(answer, TallyError):
            raise answer
        return answer

    def _end(self, ended: RelayEnd) -> RelayEnd:
        if self._opened:
            done = {"summary": ended.text[:SUMMARY_CHARS]}
            self._line.ask("actions.relay", {"context_id": self._me.context_id, "done": done}, key=new_id())
        return ended
