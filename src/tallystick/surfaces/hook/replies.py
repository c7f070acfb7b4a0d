"""What each hook answers, in a few lines. What others wrote is quoted, cut short and freed of control characters."""

from __future__ import annotations

import os
from contextlib import closing, suppress

from tallystick.client.nearest import Nearest
from tallystick.commandline import output
from tallystick.harnesses import hook_protocol
from tallystick.harnesses.hook_protocol import plain, quoted, quoted_path
from tallystick.hub import reservation_check
from tallystick.kernel import places
from tallystick.kernel.errors import TallyError
from tallystick.kernel.hints import said, step, tool_call
from tallystick.kernel.json_values import is_object, list_of, object_of, objects_of
from tallystick.surfaces.hook import session_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from tallystick.client.calls import Answered
    from tallystick.hub.reservation_check import ReservedByOther

    Asking: TypeAlias = Callable[[str, Mapping[str, object]], Answered]
    Row: TypeAlias = Mapping[str, object]
    from tallystick.harnesses.hook_protocol import HookReply
    from tallystick.surfaces.hook.main import Payload

WORKER = ("TALLYSTICK_ACTION", "TALLYSTICK_JOB")
"""What `tally attach` and `tally runner` set for a harness that works for others."""

ALONE = "Nothing has to be claimed or handed over while you are alone; reserve what you will change once others come."
TURNS = "Wait for your turn (wait_for_turn), reserve the paths you will change, and hand over before you stop."
PARALLEL = (
    "Agents work side by side here: reserve what you will change, ask whoever holds a path by mail, and claim the "
    "stick (wait_for_turn) only for what nobody else must disturb."
)
ASKED = "You work for whoever asks you: answer that. No turn is needed for it; leave alone what others have reserved."
SHOWN = 5


def advice(mode: object, *, alone: bool, worker: bool) -> str:
    """How to work here, by the room's mode, who is there, and on whose behalf."""
    if worker:
        return ASKED
    if alone:
        return ALONE
    return PARALLEL if mode == "parallel" else TURNS


def denial(found: Sequence[ReservedByOther]) -> str:
    """Who holds what, until when, and what to do instead."""
    named = [
        f"{quoted_path(each.reserved)} is reserved by {plain(each.holder)} until {_moment(each.until)}."
        for each in found
    ]
    named = list(dict.fromkeys(named))
    lines = [*named[:SHOWN], *_more(named)]
    first = found[0]
    if all(each.active for each in found):
        lines.append(
            f"Work on something else, or ask {plain(first.held_by)} for it: "
            + _call("messages.send", first.room_id, to=[first.held_by], text="…")
        )
    else:
        silent = next(each for each in found if not each.active)
        lines.append(
            f"{plain(silent.holder)} has fallen silent: look at its uncommitted work, then take the path over with "
            + _call("reservations.reserve", silent.room_id, path=silent.reserved, takeover_stale=True)
        )
    return "Tallystick: " + "\n".join(lines)


def stale(lost: Row) -> str:
    """Whose turn it is now, for an agent that does not know that its own was taken."""
    look = _call("turns.state", str(lost["room_id"]))
    return (
        f"Tallystick: turn {lost['turn_id']} is no longer yours: {plain(lost['taken_by'])} ended it, saying "
        f"{quoted(lost['reason'])}. Others may have changed what you were working on. Look before you go on: {look}"
    )


def warning(unclear: Sequence[str], others: Sequence[Row]) -> str:
    """What somebody must not touch whose command does not say what it changes."""
    which = ", ".join(plain(each) for each in unclear[:SHOWN])
    return (
        f"Tallystick: it cannot be told which files this changes ({which}). Reserved by others here: {_held(others)}"
        f"{_and_more(others)}. See that it leaves them alone."
    )


def _call(operation: str, room_id: str, **given: object) -> str:
    """The tool call that does it: whoever reads a hook's answer has our tools."""
    return f"{plain(said(step(operation, **given), tool_call, {'room_id': room_id}))}."


def greeting(ask: Asking, joined: Row, folder: str) -> str:
    """Where the agent is, who else is there, and what waits for it."""
    room_id, me = str(joined["room_id"]), str(joined["agent_id"])
    answered = ask("turns.state", {"room_id": room_id})
    state, policy = answered.data, object_of(joined.get("policy"))
    others = [plain(row["agent_id"]) for row in _rows(joined, "members") if row["agent_id"] != me]
    lines = [
        f"Tallystick: you are {me} in room {room_id} ({plain(joined['canonical_path'])}).",
        f"Others here: {', '.join(others[:SHOWN])}{_and_more(others)}." if others else "Nobody else is here.",
        _stick(me, state),
        *_handoff(ask, room_id, state),
        *(f"For you: {plain(said(notice, tool_call, {'room_id': room_id}))}." for notice in answered.notices),
        *_reserved(ask, me, room_id),
        *_elsewhere(ask, room_id, folder),
        advice(policy.get("mode"), alone=not others, worker=any(os.environ.get(name) for name in WORKER)),
    ]
    return "\n".join(lines)


def _stick(me: str, state: Row) -> str:
    if state["owner"] == me:
        return f"You hold the stick (turn {state['turn_id']})."
    if owner := state["owner"]:
        return f"The stick is with {plain(owner)} (turn {state['turn_id']})."
    if (to := state["reserved_for"]) is not None:
        return "The stick waits for you." if to == me else f"The stick is on its way to {plain(to)}."
    return "The stick is free."


def _handoff(ask: Asking, room_id: str, state: Row) -> Iterable[str]:
    if state["pending_handoff_event_seq"] is None:
        return
    latest = _rows(ask("turns.history", {"room_id": room_id, "newest": True, "limit": 20}).data, "events")
    for row in reversed(latest):
        if row["event_seq"] == state["pending_handoff_event_seq"] and is_object(handoff := row["handoff"]):
            yield f"Handoff from {plain(row['from_agent_id'])}: {quoted(handoff.get('status'))}"
            yield f"Next action: {quoted(handoff.get('next_action'))}"


def _reserved(ask: Asking, me: str, room_id: str) -> Iterable[str]:
    every = _rows(ask("reservations.status", {"room_id": room_id, "limit": 100}).data, "reservations")
    mine = [quoted_path(row["path"]) for row in every if row["agent_id"] == me]
    others = [row for row in every if row["agent_id"] != me]
    if mine:
        yield f"You still have reserved: {', '.join(mine[:SHOWN])}{_and_more(mine)}."
    if others:
        yield f"Reserved: {_held(others)}{_and_more(others)}."


def _elsewhere(ask: Asking, room_id: str, folder: str) -> Iterable[str]:
    """Who works in other checkouts of the same repository: they have rooms of their own."""
    from tallystick.harnesses import git_guard

    for root in git_guard.checkouts_beside(folder)[:SHOWN]:
        for room in _rows(ask("rooms.list", {"context_path": root, "limit": 1}).data, "rooms"):
            members = [plain(each) for each in list_of(room["members"])]
            if members and room["room_id"] != room_id:
                here = f"{', '.join(members[:SHOWN])}{_and_more(members)}"
                yield f"In another checkout of this repository, {quoted_path(root)} (room {room['room_id']}): {here}."


def held_sticks(ask: Asking, rooms: Iterable[str]) -> list[Row]:
    """The states of the rooms whose stick the caller holds while others want it. Only a holder is shown its lease."""
    states = [ask("turns.state", {"room_id": room_id, "peek": True}).data for room_id in rooms]
    return [state for state in states if state["lease_id"] is not None and state["waiting"]]


def reminder(held: Sequence[Row]) -> str:
    state = held[0]
    turn = state["turn_id"]
    return (
        f"Tallystick: you still hold the stick of room {state['room_id']} (turn {turn}). Hand it over before you stop: "
        f"release_stick with room_id, lease_id {state['lease_id']}, expected_turn_id {turn} and a handoff that says "
        "what you did and what comes next; then release the paths you reserved."
    )


def still_holding(held: Sequence[Row]) -> str:
    return f"Tallystick: the agent stops while it holds the stick of room {held[0]['room_id']}; others wait for it."


def _rows(answer: Row, name: str) -> Sequence[Row]:
    return objects_of(answer[name])


def _more(found: Sequence[object]) -> list[str]:
    return [f"(and {len(found) - SHOWN} more)"] if len(found) > SHOWN else []


def _and_more(found: Sequence[object]) -> str:
    return f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""


def _held(rows: Sequence[Row]) -> str:
    """Who has what, until when."""
    return "; ".join(
        f"{quoted_path(row['path'])} by {plain(row['name'])} until {_moment(row['until'])}" for row in rows[:SHOWN]
    )


def _moment(wire: object) -> str:
    return output.time_until(str(wire)) or ""


ANSWER_SECONDS = 5.0
"""An edit waits no longer than this for a hub that does not answer; the store is then asked without it."""


def before_edit(payload: Payload, paths: list[str], unclear: list[str]) -> HookReply:
    """Deny what somebody else has reserved; warn where it cannot be known whether it is about to be changed."""
    with closing(line_of(payload)) as line:
        if lost := _lost(line.ask, payload, paths):
            return hook_protocol.deny(payload.harness, payload.event, stale(lost))
        found = reservation_check.found(line.ask, paths, folders=[payload.folder])
        others = _others(line.ask, payload.folder) if unclear and not found else []
        _put_down(line.ask, found)
    if found:
        return hook_protocol.deny(payload.harness, payload.event, denial(found))
    _remember(payload)
    return hook_protocol.tell(payload.event, warning(unclear, others)) if others else hook_protocol.ALLOW


def _lost(ask: Asking, payload: Payload, paths: Sequence[str]) -> Row | None:
    """The turn that was taken from this agent in a room that it is about to change, and that it has not heard of."""
    folders = dict.fromkeys([payload.folder, *(os.path.dirname(path) for path in paths)])  # noqa: PTH120
    rooms = dict.fromkeys(room_id for folder in folders for room_id in reservation_check.rooms(ask, folder))
    found = (ask("turns.lost", {"room_id": room_id}).data for room_id in rooms)
    return next((each for each in found if each["turn_id"] is not None), None)


def _put_down(ask: Asking, found: Sequence[ReservedByOther]) -> None:
    """Have the refused edit on the ledger. It is refused all the same where that cannot be written."""
    for room_id in dict.fromkeys(each.room_id for each in found):
        with suppress(TallyError):
            ask("reservations.attempt", {"room_id": room_id, "paths": [e.path for e in found if e.room_id == room_id]})


def _others(ask: Asking, folder: str) -> list[Row]:
    """What others have reserved around a folder."""
    found: list[Row] = []
    for room_id in reservation_check.rooms(ask, folder):
        me = ask("reservations.check", {"room_id": room_id, "paths": []}).data["agent_id"]
        rows = _rows(ask("reservations.status", {"room_id": room_id, "limit": 100}).data, "reservations")
        found += [row for row in rows if row["agent_id"] != me]
    return found


def at_start(payload: Payload) -> HookReply:
    """Join the room of the folder that the session works in, and say in a few lines what is going on there."""
    from tallystick.surfaces.hook import news

    _note_window(payload)
    with closing(line_of(payload)) as line:
        joined = line.call("rooms.join", context_path=payload.folder, in_order=False)
        text = greeting(line.ask, joined, payload.folder)
        _, now = news.since(line.ask, payload.folder, None)
    session_files.forget_old_agents(places.data_dir())
    _remember(payload)
    if payload.event in hook_protocol.GLUED.get(payload.harness, ()):
        session_files.forget_told(places.data_dir(), payload.heard_by)
        return hook_protocol.ALLOW
    if payload.session:
        session_files.keep_told(places.data_dir(), payload.heard_by, now)
    return hook_protocol.tell(payload.event, text)


def _note_window(payload: Payload) -> None:
    """Leave the session's name for what its harness does not tell it: the MCP server and the shell of some."""
    from tallystick.harnesses import identity, open_sessions, processes, registry

    told = registry.HarnessSession.read(payload.told)
    window = identity.nearest_window(tuple(processes.ancestors(os.getpid())))
    if told is None or window is None or window.harness.call_fields or window.serves_many:
        return
    os.makedirs(places.data_dir(), mode=0o700, exist_ok=True)  # noqa: PTH103
    open_sessions.begin(window.process, told.session_id, same_agent=payload.goes_on)
    open_sessions.sweep()


def at_subagent(payload: Payload) -> HookReply:
    """Tell a sub-agent who it is: it gets no greeting, and would take its session's turn for its own."""
    with closing(line_of(payload)) as line:
        found = reservation_check.rooms(line.ask, payload.folder)
        if not found:
            return hook_protocol.ALLOW
        me = line.ask("reservations.check", {"room_id": found[0], "paths": []}).data["agent_id"]
    text = (
        f"Tallystick: you are a sub-agent of {plain(me)} in room {found[0]}. What it has reserved is yours to edit, "
        "what others have is not. The turn is its own: leave waiting for it and handing over to it."
    )
    return hook_protocol.tell(payload.event, text)


def at_end(payload: Payload) -> HookReply:
    """Leave the rooms that the session was seen in; what it holds is kept until it is resumed."""
    if payload.goes_on:
        return hook_protocol.ALLOW
    with closing(line_of(payload)) as line:
        for room_id in reservation_check.rooms(line.ask, payload.folder):
            line.call("rooms.leave", room_id=room_id, resumable=True)
    return hook_protocol.ALLOW


def at_stop(payload: Payload) -> HookReply:
    """Remind a holder of the stick to hand it over: once as a task, then only as a remark, so that it can stop.

    Who owes an ack is told of that once, too.
    """
    from tallystick.surfaces.hook import news

    folder = places.data_dir()
    told = session_files.told_so_far(folder, payload.heard_by) or session_files.ToldSoFar()
    with closing(line_of(payload)) as line:
        rooms = reservation_check.rooms(line.ask, payload.folder)
        held = held_sticks(line.ask, rooms)
        owed = None if payload.again else news.owed(line.ask, rooms, told.owed)
    if owed:
        told.owed = owed[1]
        session_files.keep_told(folder, payload.heard_by, told)
    if held and payload.again:
        return hook_protocol.remark(still_holding(held))
    reasons = [*([owed[0]] if owed else []), *([reminder(held)] if held else [])]
    return hook_protocol.go_on(payload.harness, "\n".join(reasons)) if reasons else hook_protocol.ALLOW


def at_news(payload: Payload) -> HookReply:
    """Tell a busy agent what came since it last heard: its mail, what it lost, what others did."""
    from tallystick.surfaces.hook import news

    folder = places.data_dir()
    told = session_files.told_so_far(folder, payload.heard_by)
    with closing(line_of(payload)) as line:
        if told is None and payload.harness in hook_protocol.GLUED:
            joined = line.call("rooms.join", context_path=payload.folder, in_order=False)
            lines, now = [greeting(line.ask, joined, payload.folder)], news.since(line.ask, payload.folder, None)[1]
            session_files.keep_told(folder, payload.heard_by, now)
            return hook_protocol.tell(payload.event, lines[0])
        lines, now = news.since(line.ask, payload.folder, told)
    session_files.keep_told(folder, payload.heard_by, now)
    return hook_protocol.tell(payload.event, "\n".join(["Tallystick:", *lines])) if lines else hook_protocol.ALLOW


def status_line(payload: Payload) -> HookReply:
    """The room in a few words, for a person to see below the prompt."""
    with closing(line_of(payload)) as line:
        rooms = reservation_check.rooms(line.ask, payload.folder)
        if not rooms:
            return hook_protocol.show("")
        in_room = {"room_id": rooms[0]}
        state = line.ask("turns.state", {**in_room, "peek": True}).data
        inbox = line.ask("messages.inbox", {**in_room, "limit": 1}).data
        me = line.ask("reservations.check", {**in_room, "paths": []}).data["agent_id"]
        rows = _rows(line.ask("reservations.status", {**in_room, "limit": 100}).data, "reservations")
    mine = sum(row["agent_id"] == me for row in rows)
    owed = f" ({inbox['unacked']} to accept)" if inbox["unacked"] else ""
    return hook_protocol.show(
        f"stick: {_whose(str(me), state)} · mail: {inbox['unread']}{owed} · "
        f"reserved: {mine} by me, {len(rows) - mine} by others"
    )


def _whose(me: str, state: Row) -> str:
    if state["owner"] == me:
        return "mine"
    return plain(state["owner"] or (f"kept for {state['reserved_for']}" if state["reserved_for"] else "free"))


def line_of(payload: Payload) -> Nearest:
    return Nearest(patience=0, seconds=ANSWER_SECONDS, told=payload.told)


def _remember(payload: Payload) -> None:
    """Leave a stamp, so that the next hooks of this session need not ask."""
    if not payload.session:
        return
    from tallystick.harnesses import identity, processes, registry

    caller = identity.of_this_process(told=registry.HarnessSession.read(payload.told))
    window = identity.nearest_window(tuple(processes.ancestors(os.getpid())))
    if process := caller.process or (window.process if window else None):
        session_files.remember_agent(
            places.data_dir(), payload.session, caller.agent_id, process.pid, process.started_at
        )
