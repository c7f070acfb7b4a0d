"""Random histories: what a crowd of agents might do to a room, sense or nonsense, for tests that fold it again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import cast

from tallystick.kernel.errors import Refused
from tests.scene import HANDOFF, Actor, Row, Scene

NAMES = ("ada", "bob", "cyd", "dan")


def live(scene: Scene, folder: Path, steps: int, random: Random) -> Sequence[Actor]:
    """Let some agents act `steps` times in the room of `folder`; refused calls are part of it."""
    actors = [scene.agent(name) for name in NAMES]
    for actor in actors:
        actor.join(folder, force_new=True)
    for _ in range(steps):
        scene.clock.forward(minutes=random.choice((0, 1, 21, 46, 300, -30)))
        actor = random.choice(actors)
        with suppress(Refused):
            _act(actor, folder, random)
    return actors


def _act(actor: Actor, folder: Path, random: Random) -> None:  # noqa: C901 - one case for each thing to do
    state: Row = actor.state()
    turn: Row = {"lease_id": state["lease_id"] or "none", "expected_turn_id": state["turn_id"]}
    match random.randrange(16):
        case 0 | 1 | 2 | 3:
            actor.look()
        case 4 | 5:
            actor.here("turns.release", **turn, handoff=HANDOFF)
        case 6:
            actor.here("turns.pass", **turn, handoff=HANDOFF, to_agent_id=random.choice(NAMES))
        case 7 | 8:
            actor.take_over(cast("int", state["turn_id"]))
        case 9:
            actor.here("rooms.leave")
        case 10 | 11:
            actor.join(folder, force_new=True)
        case 12:
            order = [member["agent_id"] for member in state["members"]]
            actor.here("rooms.reorder", sequence=random.sample(order, len(order)))
        case 13:
            actor.here("rooms.set_policy", claim_ttl_ms=random.choice((60_000, 1_200_000)))
        case 14:
            actor.here("notes.add", body="a note")
        case _:
            if random.random() < 0.1:
                actor.here("rooms.close", **turn)
            else:
                actor.here("events.append", kind="x.acme.tick", data={"n": random.random()})
