"""`tally ask`: a question, the steps while it is worked on, and the answer; and `tally interrupt`, which stops it.

Answers are read as plain data.

Whoever is attached takes the question as a request, whose end is on the ledger; anybody else may answer or not.
"""

from __future__ import annotations

import time
from contextlib import suppress

import click

from tallystick.commandline.command import Command
from tallystick.commandline.output import remark, visible
from tallystick.kernel.errors import Refused, TallyError
from tallystick.surfaces.cli import options, screen, short_ids
from tallystick.surfaces.cli.failures import INTERRUPTED, NOT_YET, OK, REFUSED
from tallystick.surfaces.cli.messages import LONGEST_WAIT_MS, delivered, text_of
from tallystick.surfaces.cli.options import path_option, period, room_option
from tallystick.surfaces.cli.session import Session, StopSignal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

FAILED, STOPPED = 3, 4
"""As `tally jobs wait` has them: it failed, somebody stopped it."""
ENDS = {"completed": OK, "rejected": REFUSED, "error": FAILED}


@click.command(cls=Command)
@click.argument("to", shell_complete=options.complete_recipients)
@click.argument("text")
@click.option(
    "--timeout", type=period, metavar="TIME", default="10m", show_default=True, help="How long to wait for an answer."
)
@path_option
@room_option
@click.pass_obj
def ask(session: Session, *, to: str, text: str, timeout: int, path: str | None, room_id: str | None) -> int:
    """Ask one agent, follow what it does, and print its answer.

    Exits 0 with the answer, 1 when it was refused, 3 when it failed, 4 when somebody interrupted it, and 5 when none
    came in time; it is then in `tally inbox`, where an answer that was printed is read already. TEXT may be - to read
    it from stdin.
    """
    room = session.room(path, room_id)
    sent = delivered(session, room, [to], {"text": text_of(text)}).data
    event, who, requests = sent["event"], sent["recipients"], sent["asked"]
    if not session.as_json:
        remark(f"Asked {', '.join(who)} (event {event['seq']}). Waiting for an answer; Ctrl-C stops waiting.")
        for each in requests:
            _announce(each)
    deadline = time.monotonic() + timeout / 1000
    with StopSignal() as stop:
        if requests:
            action_id = requests[0]["action_id"]
            outcome = _outcome(session, event, action_id, deadline, stop)
            code = _told(session, event, outcome)
            if outcome and outcome["reply"] is not None:
                _mark_read(session, event, lambda news: _replies(news, action_id))
        else:
            answer = next((each for each in _news(session, event, deadline, stop) if _answers(each, event, who)), None)
            code = _said(session, event, answer)
            if answer:
                answered = answer["id"]
                _mark_read(session, event, lambda news: news["id"] == answered)
        if code == NOT_YET and not session.as_json:
            remark(f"No answer yet. It will be in {session.typed('messages.inbox')}.")
        return INTERRUPTED if code == NOT_YET and stop.stopped() else code


@click.command(cls=Command)
@click.argument("agent", shell_complete=options.complete_agents)
@click.option(
    "--timeout", type=period, metavar="TIME", default="30s", show_default=True, help="How long to wait for its word."
)
@path_option
@room_option
@click.pass_obj
def interrupt(session: Session, *, agent: str, timeout: int, path: str | None, room_id: str | None) -> int:
    """Stop what an attached agent is working on.

    Exits 0 when it was stopped, and whoever asked for it is told by whom; 1 when nothing was running, 5 when the agent
    has not said so in time.
    """
    room = session.room(path, room_id)
    sent = _interrupted(session, room, agent)
    group = {"room_id": room, "group_id": sent["group_id"]}
    deadline = time.monotonic() + timeout / 1000
    with StopSignal() as stop:
        outcome = _first_outcome(session, group, deadline, stop)
        name, status = outcome["dst"], outcome["status"]
        if not session.finish({"group_id": sent["group_id"], "outcome": outcome}):
            if status in ENDS:
                told = f"{name} was interrupted" if status == "completed" else f"{name} was not interrupted"
                screen.say(f"{told}: {outcome['detail']}." if outcome["detail"] else f"{told}.")
            else:
                remark(f"{name} has not answered yet; the interrupt is the first thing that it gets.")
        if status in ENDS:
            return ENDS[status]
        return INTERRUPTED if stop.stopped() else NOT_YET


def _interrupted(session: Session, room: str, agent: str) -> dict[str, Any]:
    def sent(name: str) -> dict[str, Any]:
        action = {"type": "control", "dst": name, "command": "interrupt"}
        return session.call("actions.relay", {"room_id": room, "actions": [action]}).data

    try:
        return sent(agent)
    except Refused as refusal:
        if refusal.code not in short_ids.UNKNOWN_AGENT:
            raise
        (meant,) = short_ids.agents(session, room, [agent])
        if meant == agent:
            raise
    return sent(meant)


def _first_outcome(session: Session, group: Mapping[str, Any], deadline: float, stop: StopSignal) -> dict[str, Any]:
    """What became of the only action of a group, as far as it is known when the time is up."""
    while True:
        left = max(0, int((deadline - time.monotonic()) * 1000))
        seen = session.call("actions.outcomes", {**group, "max_wait_ms": min(left, LONGEST_WAIT_MS)}, stop).data
        if seen["settled"] or left == 0 or stop.stopped():
            return seen["actions"][0]


def _announce(request: Mapping[str, Any]) -> None:
    if request["away"]:
        remark(f"{request['agent_id']} is away; it is asked when it returns.")
    elif request["before"]:
        remark(f"{request['before']} requests wait before this one.")


def _news(session: Session, asked: Mapping[str, Any], deadline: float, stop: StopSignal) -> Iterator[dict[str, Any]]:
    """What happens in the room from the question on, until the time is up."""
    from tallystick.capabilities.actions.events import ActionResultReported, TaskProgressReported
    from tallystick.capabilities.messages.events import MessageSent

    kinds, since = [MessageSent.kind, TaskProgressReported.kind, ActionResultReported.kind], asked["seq"]
    while not stop.stopped():
        left = max(0, int((deadline - time.monotonic()) * 1000))
        follow = {"room_id": asked["group_id"], "since_seq": since, "kinds": kinds}
        news = session.call("events.follow", {**follow, "max_wait_ms": min(left, LONGEST_WAIT_MS)}, stop).data
        yield from news["events"]
        if left == 0:
            return
        since = news["cursor"]


def _outcome(
    session: Session, asked: Mapping[str, Any], action_id: str, deadline: float, stop: StopSignal
) -> dict[str, Any] | None:
    """What became of a request, once it is over; its steps are shown as they come."""
    for each in _news(session, asked, deadline, stop):
        data = each["data"]
        if data.get("task_id") == action_id and data.get("detail") and not session.as_json:
            remark(visible(f"{each['by']} {data['detail']}"))
        if data.get("action_id") == action_id and data.get("status") in ENDS:
            group = {"room_id": asked["group_id"], "group_id": asked["id"], "agent_id": asked["by"]}
            return session.call("actions.outcomes", group).data["actions"][0]
    return None


def _told(session: Session, asked: Mapping[str, Any], outcome: Mapping[str, Any] | None) -> int:
    shown = session.finish({"asked": asked, "outcome": outcome, "answer": outcome["reply"] if outcome else None})
    if outcome is None:
        return NOT_YET
    facts: Mapping[str, Any] = outcome["data"] or {}
    if not shown and outcome["reply"] is not None:
        screen.say(*str(outcome["reply"]).split("\n"))
    elif not shown:
        remark(visible(f"{outcome['dst']} gave no answer: {outcome['detail'] or outcome['status']}"))
    return STOPPED if facts.get("interrupted_by") else ENDS[outcome["status"]]


def _said(session: Session, asked: Mapping[str, Any], answer: Mapping[str, Any] | None) -> int:
    if not session.finish({"asked": asked, "answer": answer}) and answer:
        screen.say(*str(answer["data"]["text"]).split("\n"))
    return OK if answer else NOT_YET


def _mark_read(session: Session, asked: Mapping[str, Any], is_answer: Callable[[Mapping[str, Any]], bool]) -> None:
    """Whoever is shown the answer has read it. Where something older is unread, the mark would cover that as well."""
    with suppress(TallyError):
        inbox = {"room_id": asked["group_id"], "limit": 1}
        unread = [each["event"] for each in session.call("messages.inbox", inbox).data["messages"]]
        if unread and is_answer(unread[0]):
            session.call("messages.read", {"room_id": asked["group_id"], "event_id": unread[0]["id"]})


def _replies(event: Mapping[str, Any], action_id: str) -> bool:
    about: Mapping[str, Any] = event["data"].get("conversation") or {}
    return about.get("reply_to_action_id") == action_id


def _answers(event: Mapping[str, Any], asked: Mapping[str, Any], who: list[str]) -> bool:
    """A reply to the question; or, from somebody who was asked, words to the asker that answer nothing else."""
    data = event["data"]
    if data.get("reply_to") is not None:
        return data["reply_to"] == asked["id"]
    return event["by"] in who and bool({asked["by"], f"@{asked['by']}"} & {*(data.get("to") or ())})
