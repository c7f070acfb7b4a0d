"""Refusals about turns. Those about fencing carry current_owner, current_turn_id and room_state."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed
from tallystick.kernel.hints import known, step

FENCE = {
    "lease_id": known("lease_id", otherwise="LEASE"),
    "expected_turn_id": known("expected_turn_id", "turn_id", otherwise="TURN"),
}
HANDOFF = {"status": "…", "next_action": "…"}


class TurnMismatch(Conflict):
    """The expected turn is not the room's current turn."""

    hint = f"Stop working, look at {step('turns.state')} and wait for your turn again with {step('turns.wait')}."


class StaleLease(Conflict):
    """The supplied lease is no longer current for this room."""

    hint = f"Stop working: you do not hold the stick. {step('turns.wait')} waits for your turn."


class InvalidHandoff(InvalidInput):
    """The handoff is incomplete."""

    hint = (
        "Say what you did, learned and left open, and what to do next: "
        f"{step('turns.release', **FENCE, handoff=HANDOFF)}."
    )


class TakeoverNotAvailable(Conflict):
    """The stick cannot be taken over now: its holder or recipient is still within its time."""

    hint = f"Wait with {step('turns.wait')}: it says when the time has come."


class TakeoverIneligible(NotAllowed):
    """You are not the one who may take the stick over now."""

    hint = f"Wait for your turn with {step('turns.wait')}; the message says who may take it over instead."


class NobodyHolds(Conflict):
    """Nobody holds the stick, so there is no turn to end."""

    hint = f"{step('turns.state')} shows the room."


class HoldsStick(Conflict):
    """You hold the stick."""

    hint = f"Hand it over first: {step('turns.release', **FENCE, handoff=HANDOFF)}."


class NotHolder(NotAllowed):
    """Only the present holder of the stick may do that."""

    hint = f"Wait for your turn with {step('turns.wait')}, or take the stick over when that is available."


class ObserverCannotHold(NotAllowed):
    """A one-shot command cannot hold the stick: nothing would be left to keep it alive."""

    hint = "Hold it from a terminal with `tally hold`, or name yourself with --as if a script keeps the turn."
