"""Reservations against a small model: whatever a crowd of agents does, nobody's exclusive paths overlap another's."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tallystick.hub import maintenance
from tallystick.kernel.errors import TallyError
from tallystick.storage.port import Store
from tests.scene import START, Actor, Row, Scene

AGENTS = ("ada", "bob", "cyd")
PATHS = (".", "src", "src/*", "src/lib", "src/lib/a.py", "src/./lib/", "src/lib.py", "docs", "docs/../docs/x", "docs/x")
STALE = 15 * 60_000


def key(path: str) -> tuple[str, ...]:
    """What a path means, worked out by hand."""
    parts: list[str] = []
    for part in path.removesuffix("/*").split("/"):
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)


def overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    short = min(len(one), len(other))
    return one[:short] == other[:short]


@dataclass
class Held:
    agent: str
    key: tuple[str, ...]
    mode: str
    until: int
    recorded: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict[tuple[str, tuple[str, ...]], str])
    """Who has run into it, with what, and how alive its owner was then."""


@dataclass
class Model:
    now: int = START
    held: list[Held] = field(default_factory=list[Held])
    seen: dict[str, int] = field(default_factory=dict[str, int])
    dead: set[str] = field(default_factory=set[str])
    incursions: int = 0

    def active(self, agent: str) -> bool:
        return agent not in self.dead and self.now - self.seen[agent] < STALE

    def liveness(self, agent: str) -> str:
        silent = self.now - self.seen[agent]
        return "active" if self.active(agent) else "evicted" if agent in self.dead or silent >= 2 * STALE else "stale"

    def live(self) -> list[Held]:
        return [each for each in self.held if each.until > self.now]

    def reserve(self, agent: str, where: tuple[str, ...], mode: str, minutes: int, *, takeover: bool) -> str:
        others = [each for each in self.live() if each.agent != agent and overlap(each.key, where)]
        takes = [each for each in others if takeover and not self.active(each.agent)]
        rest = [each for each in others if each not in takes]
        for each in rest:
            now = self.liveness(each.agent)
            if each.recorded.get((agent, where)) != now:
                each.recorded[agent, where] = now
                self.incursions += 1
        if rest and mode == "exclusive":
            return "reservation_conflict" if any(self.active(each.agent) for each in rest) else "reservation_stale"
        self.held = [each for each in self.held if each not in takes]
        until = self.now + minutes * 60_000
        mine = next((each for each in self.live() if (each.agent, each.key) == (agent, where)), None)
        if mine:
            mine.mode, mine.until = mode, until
            return "refreshed"
        self.held.append(Held(agent, where, mode, until))
        return "granted"

    def release(self, agent: str, where: tuple[str, ...]) -> bool:
        mine = [each for each in self.live() if (each.agent, each.key) == (agent, where)]
        self.held = [each for each in self.held if each not in mine]
        return bool(mine)


agents = st.sampled_from(AGENTS)
paths = st.sampled_from(PATHS)


class ReservationMachine(RuleBasedStateMachine):
    def __init__(self, scene: Scene, workspace: Path) -> None:
        super().__init__()
        self.scene, self.workspace, self.model = scene, workspace, Model()
        self.room_id = ""

    @initialize()
    def settle(self) -> None:
        self.scene.clock.now = START
        for name in AGENTS:
            actor = self.scene.reborn(name)
            actor.join(self.workspace, force_new=True)
            self.room_id = actor.room_id
            self.model.seen[name] = START

    def actor(self, name: str) -> Actor:
        """The agent, in a new process when the last one is dead; to call shows that it is there."""
        actor = self.scene.reborn(name) if name in self.model.dead else self.scene.agent(name)
        self.model.dead.discard(name)
        self.model.seen[name] = self.model.now
        actor.room_id = self.room_id
        return actor

    def outcome(self, name: str, operation: str, **given: object) -> str:
        try:
            return str(self.actor(name).here(operation, **given).get("status", "ok"))
        except TallyError as refusal:
            return refusal.code

    @rule(
        name=agents,
        path=paths,
        mode=st.sampled_from(("exclusive", "exclusive", "shared")),
        minutes=st.sampled_from((5, 60)),
        takeover=st.booleans(),
    )
    def reserve(self, name: str, path: str, mode: str, minutes: int, takeover: bool) -> None:
        found = self.outcome(
            name, "reservations.reserve", path=path, mode=mode, ttl_minutes=minutes, takeover_stale=takeover
        )
        assert found == self.model.reserve(name, key(path), mode, minutes, takeover=takeover)

    @rule(name=agents, path=paths)
    def release(self, name: str, path: str) -> None:
        found = self.outcome(name, "reservations.release", path=path)
        assert (found == "released") == self.model.release(name, key(path)), found

    @rule(name=agents, path=paths)
    def renew(self, name: str, path: str) -> None:
        found = self.outcome(name, "reservations.renew", path=path, ttl_minutes=30)
        mine = [each for each in self.model.live() if (each.agent, each.key) == (name, key(path))]
        for each in mine:
            each.until = self.model.now + 30 * 60_000
        assert (found == "ok") == bool(mine), found

    @rule(name=agents)
    def die(self, name: str) -> None:
        if name not in self.model.dead:
            self.scene.kill(self.scene.agent(name))
            self.model.dead.add(name)

    @rule(minutes=st.sampled_from((1, 4, 5, 14, 15, 16, 59, 60)))
    def wait(self, minutes: int) -> None:
        self.scene.clock.forward(minutes=minutes)
        self.model.now += minutes * 60_000

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        if not self.room_id:
            return
        listed = cast("list[Row]", self.scene.stranger(self.room_id).here("reservations.status")["reservations"])
        found = sorted((each["agent_id"], key(each["path"]), each["mode"]) for each in listed)
        assert found == sorted((each.agent, each.key, each.mode) for each in self.model.live())

    @invariant()
    def no_two_agents_have_overlapping_paths_to_themselves(self) -> None:
        alone = [each for each in self.model.live() if each.mode == "exclusive"]
        for one, other in itertools.combinations(alone, 2):
            assert one.agent == other.agent or not overlap(one.key, other.key)

    @invariant()
    def every_incursion_is_recorded_once_for_each_state_of_its_owner(self) -> None:
        if not self.room_id:
            return
        kinds = ["x.tally.protocol.incursion"]
        events = self.scene.stranger(self.room_id).events(kinds=kinds, limit=1000)
        assert len(events) == self.model.incursions


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_whatever_happens_two_exclusive_reservations_never_overlap(store: Store, tmp_path: Path) -> None:
    scene = Scene(store, tmp_path.resolve())
    count = itertools.count()

    class Machine(ReservationMachine):
        def __init__(self) -> None:
            super().__init__(scene, scene.folder(f"path-{next(count)}"))

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=40 if store.engine == "sqlite" else 6,
            stateful_step_count=30,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    assert maintenance.check(scene.hub) == []
