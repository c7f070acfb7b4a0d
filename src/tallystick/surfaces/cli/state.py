"""`tally state`: whose turn it is, once or again whenever it changes; `tally heartbeat`, which keeps it."""

from __future__ import annotations

import click

from tallystick.commandline import output
from tallystick.commandline.command import Command
from tallystick.commandline.output import visible_json
from tallystick.kernel.clock import from_wire, system_clock
from tallystick.kernel.errors import Conflict, InvalidInput
from tallystick.kernel.hints import step
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.options import about_a_room
from tallystick.surfaces.cli.session import CallReply, Session, StopSignal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LOOK_AGAIN_MS = 2_000
"""A lease that runs out and a process that dies leave no event, so watching also looks by itself."""


@click.command(cls=Command)
@about_a_room
@click.option("--watch", is_flag=True, help="Show it again whenever it changes, until Ctrl-C.")
@click.pass_obj
def state(session: Session, *, path: str | None, room_id: str | None, watch: bool) -> None:
    """Show whose turn it is, who is here and who comes next.

    With --watch and --json each state is one line of JSON, without the envelope.
    """
    room = session.room(path, room_id)
    if watch:
        _watch(session, room)
        return
    reply = session.call("turns.state", {"room_id": room})
    if not session.finish(reply.data):
        show(reply.data)


@click.command(cls=Command)
@about_a_room
@click.pass_obj
def heartbeat(session: Session, *, path: str | None, room_id: str | None) -> None:
    """Say that you still work, and keep the stick.

    Finds your lease by itself. Whoever waits sees that the holder is alive, and the lease runs anew.
    """
    room = session.room(path, room_id)
    fence = owned(session, room)
    reply = fenced(session, "turns.heartbeat", fence)
    if not session.finish(reply.data):
        until = output.time_until(reply.data["lease_expires_at"])
        screen.say(f"The stick is yours: turn {reply.data['turn_id']}, until {until}.")


def owned(session: Session, room: str, lease: str | None = None, turn: int | None = None) -> dict[str, object]:
    """What fences an owner's call: as given, else what the room shows its holder."""
    if lease is None or turn is None:
        state = session.call("turns.state", {"room_id": room}).data
        lease = lease if lease is not None else state["lease_id"] or ""
        turn = turn if turn is not None else state["turn_id"]
    return {"room_id": room, "lease_id": lease, "expected_turn_id": turn}


def fenced(session: Session, operation: str, given: Mapping[str, object]) -> CallReply:
    """An owner's call. Who holds nothing is told so, and not about a lease that was never given."""
    from tallystick.surfaces.cli import short_ids  # Here: `tally state` needs none.

    if not given["lease_id"] and "handoff" in given:
        # Without a lease it is refused whatever it says: nobody is asked for words that would then not be taken.
        given = {**given, "handoff": {"status": "…", "next_action": "…"}}
    try:
        return short_ids.call(session, operation, given)
    except Conflict as refusal:
        if not given["lease_id"] and refusal.code == "stale_lease":
            owner = refusal.details.get("current_owner")
            refusal.message = f"You do not hold the stick: {f'{owner} does' if owner else 'nobody does'}."
        raise
    except InvalidInput as refusal:
        if refusal.message.startswith("handoff.") and refusal.message.endswith(": Field required."):
            refusal.message = "A hand-over says how far you are and what comes next: --status and --next-action."
            if to := given.get("to_agent_id"):
                line = step(operation, to_agent_id=to, handoff={"status": "…", "next_action": "…"})
                refusal.declared = f"Say what you did, learned and left open, and what to do next: {line}."
        raise


def _watch(session: Session, room: str) -> None:
    shown: dict[str, object] | None = None
    with StopSignal() as stop:
        while not stop.stopped():
            reply = session.call("turns.state", {"room_id": room})
            if (now := _lasting(reply, as_json=session.as_json)) != shown:
                shown = now
                _show_again(session, reply)
            since = int(reply.data["cursor"])
            follow = {"room_id": room, "since_seq": since, "max_wait_ms": LOOK_AGAIN_MS}
            session.call("events.follow", follow, stop)


def _lasting(reply: CallReply, *, as_json: bool) -> dict[str, object]:
    """A state without what moves although nothing changed; for a person, with how long each still has."""
    state = reply.data
    members = [{**member, "last_seen_at": None} for member in state["members"]]
    left = None if as_json else (_holder(state), _expected(state))
    return {**state, "members": members, "left": left}


def _holder(state: Mapping[str, Any]) -> str | None:
    return _with_time(state["owner"], state["lease_expires_at"], "lease")


def _expected(state: Mapping[str, Any]) -> str | None:
    return _with_time(state["reserved_for"], state["claim_expires_at"], "claim")


def _show_again(session: Session, reply: CallReply) -> None:
    if session.as_json:
        print(visible_json(reply.data), flush=True)
        return
    screen.clear()
    show(reply.data)
    print(flush=True)


def shown(reply: CallReply) -> None:
    """`tally turns state`: the same as `tally state`."""
    show(reply.data)


def show(state: Mapping[str, Any]) -> None:
    """A `TurnState` as plain data: see `session.CallReply`."""
    owner, reserved_for = state["owner"], state["reserved_for"]
    screen.pairs(
        {
            "room": state["room_id"],
            "path": state["canonical_path"],
            "state": state["state"],
            "turn": state["turn_id"],
            "holder": _holder(state) or "nobody",
            "next": _expected(state) or state["next"] or "nobody else is here",
        }
        | ({"your lease": state["lease_id"]} if state["lease_id"] else {})
    )
    if state["takeover"]:
        candidates = ", ".join(state["takeover_candidates"]) or "whoever joins"
        screen.say(f"The stick may be taken over ({state['takeover']}) by: {candidates}")
    if not state["members"]:
        return
    print()
    marks = {reserved_for: ">", owner: "*"}
    fields = ("agent_id", "status")
    screen.table(
        ["", "MEMBER", "STATUS", "LAST SEEN", "PROCESS"],
        [
            [
                marks.get(each["agent_id"], " "),
                *(each[name] for name in fields),
                output.relative_time(each["last_seen_at"]),
                each["pid"] or each["session_kind"],
            ]
            for each in state["members"]
        ],
    )


def _with_time(who: str | None, until: str | None, what: str) -> str | None:
    if who is None or until is None:
        return who
    left = (from_wire(until) - system_clock()) // 1000
    return (
        f"{who} ({what} {output.span_in_words(left)} left)"
        if left >= 0
        else f"{who} ({what} ran out {output.span_in_words(-left)} ago)"
    )
