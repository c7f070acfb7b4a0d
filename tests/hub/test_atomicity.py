"""A write happens whole or not at all, wherever in the middle it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tallystick.hub.hub import Hub
from tests.scene import HANDOFF, Actor, Scene


class Broken(Exception):
    """What a bug in the middle of a write would raise."""


@dataclass
class FailingIds:
    """Gives ids until it is told to break after some more."""

    left: int = 10_000
    given: int = 0

    def __call__(self) -> str:
        if self.left == 0:
            raise Broken
        self.left -= 1
        self.given += 1
        return f"00000000-0000-7000-8000-{self.given:012}"


@pytest.fixture
def ids(scene: Scene) -> FailingIds:
    ids = FailingIds()
    scene.hub = Hub(
        scene.store,
        clock=scene.clock,
        new_id=ids,
        process_state=scene.hub.world.process_state,
        machine_id="test-machine",
    )
    return ids


def release(ada: Actor) -> Callable[[], object]:
    turn = ada.claim()
    return lambda: ada.release(turn, handoff=HANDOFF)


def takeover(ada: Actor) -> Callable[[], object]:
    bob = ada.scene.agent("bob")
    bob.join()
    bob.claim()
    ada.scene.clock.forward(minutes=46)
    ada.state()
    return lambda: ada.take_over(1)


WRITES: dict[str, Callable[[Actor], Callable[[], object]]] = {
    "claim": lambda ada: ada.look,
    "release": release,
    "takeover": takeover,
    "create": lambda ada: lambda: ada.join(ada.scene.folder("nested"), force_new=True),
}


@pytest.mark.parametrize(("write", "ids_needed"), [("claim", 2), ("release", 1), ("takeover", 2), ("create", 4)])
def test_a_write_that_breaks_in_the_middle_leaves_nothing_behind(
    scene: Scene, ids: FailingIds, write: str, ids_needed: int
) -> None:
    (ada,) = scene.joined("ada")
    act = WRITES[write](ada)
    before = scene.dump()
    for reached in range(ids_needed):
        ids.left = reached
        with pytest.raises(Broken):
            act()
        assert scene.dump() == before
    ids.left = ids_needed
    act()
    assert ids.left == 0
    assert scene.dump() != before
