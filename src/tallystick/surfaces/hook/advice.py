"""The last line of the greeting: how to work here, by the room's mode, who is there, and on whose behalf."""

from __future__ import annotations

WORKER = ("TALLYSTICK_ACTION", "TALLYSTICK_JOB")
"""What `tally attach` and `tally runner` set for a harness that works for others."""

ALONE = "Nothing has to be claimed or handed over while you are alone; reserve what you will change once others come."
TURNS = "Wait for your turn (wait_for_turn), reserve the paths you will change, and hand over before you stop."
PARALLEL = (
    "Agents work side by side here: reserve what you will change, ask whoever holds a path by mail, and claim the "
    "stick (wait_for_turn) only for what nobody else must disturb."
)
ASKED = "You work for whoever asks you: answer that. No turn is needed for it; leave alone what others have reserved."


def advice(mode: object, *, alone: bool, worker: bool) -> str:
    if worker:
        return ASKED
    if alone:
        return ALONE
    return PARALLEL if mode == "parallel" else TURNS
