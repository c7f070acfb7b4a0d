"""What wakes nobody: a deadline or the end of a process ends a wait in the event loop without reads of the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import TypeVar

import pytest

from tallystick.hub import engine
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor
from tallystick.hub.watching import WaitConditions
from tallystick.kernel.caller import Process, ProcessState
from tallystick.kernel.operation import Unannounced
from tallystick.ledger.tx import Tx
from tests.scene import Actor, Scene, Turn

T = TypeVar("T")

NEVER = 1000.0
"""Seconds that no test lasts."""
LONG = 100_000
GIVEN_UP = 60
MANY = 30
SOON = Unannounced(moment=1_000, every_ms=250)


@dataclass
class Timers:
    """An event loop in which time passes only when a test says so."""

    set: list[tuple[float, Callable[[], object]]] = field(default_factory=list[tuple[float, Callable[[], object]]])

    def call_later(self, seconds: float, call: Callable[..., object], *given: object) -> None:
        self.set.append((seconds, lambda: call(*given)))

    def pass_one(self) -> float:
        seconds, call = self.set.pop(0)
        call()
        return seconds


@dataclass
class Stage:
    """Checks of a scene's world, and who was rung for."""

    scene: Scene
    timers: Timers = field(default_factory=Timers)
    rung: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.scene.clock.now = 0
        self.checks = WaitConditions(self.timers, self.scene.hub.world)  # pyright: ignore[reportArgumentType]

    def ring(self, name: str) -> Callable[[], None]:
        return lambda: self.rung.append(name)


@pytest.fixture
def stage(scene: Scene) -> Stage:
    return Stage(scene)


def test_all_who_wait_for_the_same_thing_share_one_timer(stage: Stage) -> None:
    with stage.checks.sharing(SOON, stage.ring("ada")), stage.checks.sharing(SOON, stage.ring("bob")):
        assert [seconds for seconds, _ in stage.timers.set] == [0.25]
        stage.timers.pass_one()
        assert (stage.rung, len(stage.timers.set)) == ([], 1)
        stage.scene.clock.now = 1_000
        stage.timers.pass_one()
    assert (sorted(stage.rung), stage.timers.set) == (["ada", "bob"], [])


def test_a_process_that_ended_rings_for_those_who_wait_for_it_and_for_nobody_else(stage: Stage) -> None:
    ada, bob = stage.scene.joined("ada", "bob")
    first, second = (Unannounced(process_ends=actor.caller.process) for actor in (ada, bob))
    with stage.checks.sharing(first, stage.ring("first")), stage.checks.sharing(second, stage.ring("second")):
        stage.scene.kill(bob)
        stage.timers.pass_one()
        stage.timers.pass_one()
    assert stage.rung == ["second"]


def test_nobody_is_rung_for_who_has_left_and_the_last_one_takes_the_timer_along(stage: Stage) -> None:
    with stage.checks.sharing(SOON, stage.ring("stays")):
        with stage.checks.sharing(SOON, stage.ring("leaves")):
            pass
        stage.scene.clock.now = 1_000
        stage.timers.pass_one()
    with stage.checks.sharing(Unannounced(moment=2_000), stage.ring("leaves")):
        pass
    stage.timers.pass_one()
    assert (stage.rung, stage.timers.set) == (["stays"], [])


def test_a_wait_that_only_events_can_end_has_no_timer(stage: Stage) -> None:
    with stage.checks.sharing(Unannounced(), stage.ring("ada")):
        assert stage.timers.set == []


@dataclass
class Served:
    """A wait in an event loop that looks by itself only after a thousand seconds."""

    scene: Scene
    actor: Actor
    then: Callable[[], object]
    """Done once the wait has been checked on a few times."""
    glances: int = 0
    """Looks at the store until then."""
    checks: int = 0

    def status(self) -> object:
        return asyncio.run(self._status())

    async def _status(self) -> object:
        self._often = asyncio.Event()
        world = self.scene.hub.world
        hub = Hub(self.scene.store, clock=world.clock, process_state=self._state, machine_id="test", grouped=True)
        serving = Serving(hub, lambda _event: b"")
        self._glance = hub.read_at_once
        hub.read_at_once = self._glancing
        visitor = Visitor(caller=self.actor.caller, trusted=True)
        asked = {"room_id": self.actor.room_id, "max_wait_ms": LONG}
        try:
            async with asyncio.timeout(GIVEN_UP):
                waiting = asyncio.ensure_future(serving.call(visitor, "turns.wait", asked))
                await self._often.wait()
                seen, _ = self.glances, self.then()
                answer = await waiting
            self.glances = seen
            return answer.to_data()["status"]
        finally:
            serving.dismiss()
            await serving.close()
            assert hub.committer
            hub.committer.close()

    def _glancing(self, run: Callable[[Tx], T]) -> T:
        self.glances += 1
        return self._glance(run)

    def _state(self, process: Process) -> ProcessState:
        # Each look asks for two processes, each check for one: so many are checks for the most part.
        self.checks += 1
        if self.checks == MANY:
            self._often.set()
        return self.scene.hub.world.process_state(process)


@pytest.fixture
def held(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> tuple[Actor, Actor, Turn]:
    """Ada holds the stick, bob may wait for it; who waits is checked on every ten milliseconds."""
    monkeypatch.setattr(engine, "LOOK_SECONDS", NEVER)
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    ada.here("rooms.set_policy", wait_for_turn_poll_ms=10)
    return ada, bob, turn


@pytest.mark.parametrize("fate", ["expired", "dead"])
def test_a_served_wait_reads_nothing_until_what_it_depends_on_has_come(
    scene: Scene, held: tuple[Actor, Actor, Turn], fate: str
) -> None:
    ada, bob, _ = held
    served = Served(
        scene, bob, (lambda: scene.kill(ada)) if fate == "dead" else (lambda: scene.clock.forward(minutes=46))
    )
    assert served.status() == "takeover_available"
    assert served.glances == len(["the first look", "once more when the room is watched"])


@pytest.mark.parametrize("fate", ["expired", "dead"])
def test_a_served_wait_learns_what_became_of_whom_the_stick_is_kept_for(
    scene: Scene, held: tuple[Actor, Actor, Turn], fate: str
) -> None:
    ada, bob, turn = held
    (eve,) = scene.joined("eve")
    ada.pass_to(turn, "bob")
    served = Served(
        scene, eve, (lambda: scene.kill(bob)) if fate == "dead" else (lambda: scene.clock.forward(minutes=46))
    )
    assert served.status() == "takeover_available"


def test_a_served_wait_survives_a_lost_wake(
    scene: Scene, held: tuple[Actor, Actor, Turn], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob, turn = held
    monkeypatch.setattr(scene.store, "watch", Deaf)
    assert Served(scene, bob, lambda: ada.release(turn)).status() == "your_turn"


class Deaf:
    """A watch that is never woken."""

    def __init__(self, _room_id: str) -> None:
        pass

    def wait(self, timeout: float) -> bool:
        return Event().wait(min(timeout, 0.01))

    def close(self) -> None:
        pass
