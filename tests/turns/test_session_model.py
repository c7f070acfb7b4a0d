"""Whatever sessions, adoptions, takeovers, deaths and clocks do: no turn ever has owner writes of two sessions."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tallystick.hub import maintenance
from tallystick.kernel.caller import Caller, Process, SessionKind
from tallystick.kernel.errors import TallyError
from tallystick.storage.port import Store
from tests.scene import HANDOFF, Actor, Row, Scene

NAMES = ("ada", "bob", "cyd")
PLACES = tuple((name, number) for name in NAMES for number in (0, 1, 2))
"""Two processes of each name, and number 0: its commands, which have no process."""
MINUTES = (1, 14, 16, 31, 44, 46, 241, -1, -46)

places = st.sampled_from(PLACES)
calls = st.sampled_from(("heartbeat", "heartbeat", "release"))


@dataclass(frozen=True)
class Write:
    """An owner write, or a grant, that was accepted."""

    own_id: str
    pid: int | None
    """None for a command without a process."""


class SessionMachine(RuleBasedStateMachine):
    def __init__(self, scene: Scene, title: str) -> None:
        super().__init__()
        self.scene, self.title = scene, title
        self.pids = {place: self.new_pid() for place in PLACES if place[1]}
        self.room_id = ""
        self.leases: list[tuple[str, int]] = []
        self.writes: dict[int, set[Write]] = {}
        self.ended: set[int] = set()
        """The turns that a person has ended."""

    def new_pid(self) -> int:
        return next(PIDS)

    def actor(self, place: tuple[str, int]) -> Actor:
        name, number = place
        if number == 0:
            return Actor(self.scene, Caller(agent_id=name, session=SessionKind.NAMED), self.room_id)
        process = Process(host_id="test-host", pid=self.pids[place], started_at="1")
        caller = Caller(agent_id=name, session=SessionKind.MCP_HARNESS, process=process)
        return Actor(self.scene, caller, self.room_id)

    def try_(self, place: tuple[str, int], operation: str, **given: object) -> Row | None:
        if self.pids.get(place) in self.scene.dead:
            return None
        try:
            return self.actor(place).here(operation, **given)
        except TallyError:
            return None

    def accepted(self, place: tuple[str, int], turn_id: int) -> None:
        assert turn_id not in self.ended, "an owner write after the turn was ended"
        self.writes.setdefault(turn_id, set()).add(Write(place[0], self.pids.get(place)))

    @initialize()
    def begin(self) -> None:
        self.room_id = cast("str", self.actor(("ada", 0)).call("rooms.create", title=self.title)["room_id"])
        for name in NAMES:
            self.actor((name, 1)).here("rooms.join")

    @rule(place=places)
    def die(self, place: tuple[str, int]) -> None:
        if place[1]:
            self.scene.dead.add(self.pids[place])

    @rule(place=places)
    def start(self, place: tuple[str, int]) -> None:
        if place[1] and self.pids[place] in self.scene.dead:
            self.pids[place] = self.new_pid()

    @rule(minutes=st.sampled_from(MINUTES))
    def jump(self, minutes: int) -> None:
        self.scene.clock.forward(minutes=minutes)

    @rule(place=places)
    def join(self, place: tuple[str, int]) -> None:
        self.try_(place, "rooms.join")

    @rule(place=places)
    def wait(self, place: tuple[str, int]) -> None:
        found = self.try_(place, "turns.wait", max_wait_ms=0)
        if found and found["status"] == "your_turn":
            self.granted(place, found)

    def granted(self, place: tuple[str, int], found: Row) -> None:
        self.leases.append((found["lease_id"], found["turn_id"]))
        self.accepted(place, found["turn_id"])

    @rule(place=places, back=st.sampled_from((0, 0, 0, 1, 2)), how=calls)
    def own(self, place: tuple[str, int], back: int, how: str) -> None:
        """An owner's call, with a lease that anybody may have seen."""
        if back >= len(self.leases):
            return
        lease_id, turn_id = self.leases[-1 - back]
        more: Row = {"handoff": HANDOFF} if how == "release" else {}
        if self.try_(place, f"turns.{how}", lease_id=lease_id, expected_turn_id=turn_id, **more):
            self.accepted(place, turn_id)

    @rule(place=places)
    def take_over(self, place: tuple[str, int]) -> None:
        turn_id = cast("int", self.actor(("ada", 0)).state()["turn_id"])
        found = self.try_(place, "turns.takeover", expected_turn_id=turn_id, reason="no answer")
        if found:
            self.granted(place, found)

    @rule()
    def revoke(self) -> None:
        """A person ends whatever turn there is, under its holder's hands."""
        person = Actor(self.scene, Caller(agent_id="human:wren:pts1", session=SessionKind.HUMAN_CLI), self.room_id)
        turn_id = person.state()["turn_id"]
        with contextlib.suppress(TallyError):
            person.here("turns.revoke", expected_turn_id=turn_id, reason="it hangs")
            self.ended.add(cast("int", turn_id))

    @rule(place=places)
    def leave(self, place: tuple[str, int]) -> None:
        self.try_(place, "rooms.leave")

    @rule(place=places, whom=st.sampled_from(NAMES))
    def adopt(self, place: tuple[str, int], whom: str) -> None:
        """A person lets it, so that nothing but life itself stands in the way."""
        person = Actor(self.scene, Caller(agent_id="human:wren:pts1", session=SessionKind.HUMAN_CLI), self.room_id)
        try:
            person.here("agents.allow_adoption", agent_id=whom, session_id=place[0])
        except TallyError:
            return
        alive = {self.pids[each] for each in PLACES if each[0] == whom and each[1]} - self.scene.dead
        shown: Row = person.here("agents.show", agent_id=whom)
        done = self.try_(place, "agents.adopt", agent_id=whom)
        assert not (done and shown["pid"] in alive), "a living process was adopted"

    @invariant()
    def a_turn_has_one_session(self) -> None:
        for turn_id, writes in self.writes.items():
            processes = {write for write in writes if write.pid is not None}
            names = {write.own_id for write in writes}
            assert len(processes) <= 1, (turn_id, writes)
            assert len(names) == 1, (turn_id, writes)


PIDS = itertools.count(50_000)


@pytest.mark.slow
@pytest.mark.timeout(10_000)
@pytest.mark.parametrize("plays", [30, pytest.param(10_000, marks=pytest.mark.soak)])
def test_no_turn_has_owner_writes_of_two_sessions(store: Store, tmp_path: Path, plays: int) -> None:
    scene = Scene(store, tmp_path.resolve())
    count = itertools.count()

    class Machine(SessionMachine):
        def __init__(self) -> None:
            super().__init__(scene, f"room {next(count)}")

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=plays,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    assert maintenance.check(scene.hub) == []
