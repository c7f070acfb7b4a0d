"""Refusals about turns. Those about fencing carry current_owner, current_turn_id and room_state."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed


class TurnMismatch(Conflict):
    """The expected turn is not the room's current turn."""

    hint = "Stop working, read the room's state (`tally state`, MCP: get_room_state) and wait for your turn again."


class StaleLease(Conflict):
    """The supplied lease is no longer current for this room."""

    hint = "Stop working: you do not hold the stick. Read the room's state and wait for your turn again."


class InvalidHandoff(InvalidInput):
    """The handoff is incomplete."""

    hint = "Give handoff.status (what you did, learned and left open) and handoff.next_action (what to do next)."


class TakeoverNotAvailable(Conflict):
    """The stick cannot be taken over now: its holder or recipient is still within its time."""

    hint = "Wait with `tally wait` (MCP: wait_for_turn); it returns takeover_available when the time has come."


class TakeoverIneligible(NotAllowed):
    """You are not the one who may take the stick over now."""

    hint = "Wait for your turn; the message says who may take it over instead."


class HoldsStick(Conflict):
    """You hold the stick."""

    hint = "Release or pass it with a handoff first."


class NotHolder(NotAllowed):
    """Only the present holder of the stick may do that."""

    hint = "Wait for your turn, or take the stick over when that is available."


class ObserverCannotHold(NotAllowed):
    """A one-shot command cannot hold the stick: nothing would be left to keep it alive."""

    hint = "Hold it from a terminal with `tally hold`, or name yourself with --as if a script keeps the turn."
