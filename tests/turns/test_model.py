"""The hub against a small model of the specification: whatever a crowd of agents does, both say the same."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tallystick.hub import maintenance
from tallystick.kernel.clock import to_wire
from tallystick.kernel.errors import TallyError
from tallystick.storage.port import Store
from tests.scene import START, Actor, Row, Scene
from tests.turns.reference import NEW, Refusal, Reply, Workspace
from tests.turns.reference_state import Room

NAMES = ("ada", "bob", "cyd", "dan")
MINUTES = (1, 5, 19, 20, 21, 44, 45, 46, 120, 240, 241, 600, -1, -20, -300)
"""Jumps of the clock: to deadlines, beyond them and back. Whole minutes, so presence is never a few seconds old."""

agents = st.sampled_from(NAMES)
actors = st.sampled_from((*NAMES, "the owner", "the owner", "the owner", "the recipient"))
ages = st.sampled_from((0, 0, 0, 0, 1))
"""Which of the path's rooms: the newest, or one before."""
turns = st.sampled_from((0, 0, 0, 0, 0, 0, -1, 1))
"""How far the expected turn is off."""
leases = st.sampled_from((0, 0, 0, 0, 1, 2, None))
"""Which of the leases given so far, newest first; None is a forged one."""
handoffs = st.integers(0, 99).map(lambda number: {"status": f"did {number}", "next_action": f"do {number + 1}"})


class StickMachine(RuleBasedStateMachine):
    def __init__(self, scene: Scene, workspace: Path) -> None:
        super().__init__()
        self.scene = scene
        self.workspace = workspace
        self.model = Workspace(now=START)
        self.room_ids: list[str] = []
        self.given: list[list[str]] = []
        """The leases of each room, oldest first."""
        self.pids: dict[str, int] = {}
        self.checked: dict[int, int] = {}

    @initialize()
    def settle(self) -> None:
        self.scene.clock.now = START
        for name in NAMES[:3]:
            self.start(name)
            self.join(name)

    # Processes and time

    def start(self, name: str) -> None:
        process = self.scene.reborn(name).caller.process
        assert process
        self.pids[name] = process.pid

    @rule(name=agents)
    def restart(self, name: str) -> None:
        self.start(name)

    @rule(name=agents)
    def die(self, name: str) -> None:
        if name in self.pids:
            self.scene.dead.add(self.pids[name])
            self.model.dead.add(self.pids[name])

    @rule(minutes=st.sampled_from(MINUTES))
    def jump(self, minutes: int) -> None:
        self.scene.clock.forward(minutes=minutes)
        self.model.now += minutes * 60_000

    # Calls

    def place(self, age: int) -> int:
        return max(len(self.room_ids) - 1 - age, 0)

    def who(self, room: Room, actor: str) -> str:
        chosen = {"the owner": room.owner, "the recipient": room.reserved_for}.get(actor, actor) or "ada"
        if chosen not in self.pids:
            self.start(chosen)
        return chosen

    def call(self, place: int, name: str, operation: str, **given: object) -> Row | TallyError:
        actor = Actor(self.scene, self.scene.agent(name).caller, self.room_ids[place])
        try:
            return actor.here(operation, **given)
        except TallyError as refusal:
            return refusal

    def agree(self, place: int, expected: Reply, found: Row | TallyError) -> None:
        if isinstance(expected, Refusal) or isinstance(found, TallyError):
            assert isinstance(found, TallyError), (expected, found)
            assert isinstance(expected, Refusal), (expected, found)
            assert found.code == expected.code
            if expected.details is not None:
                assert dict(found.details) == expected.details
            return
        if expected.get("lease_id") == NEW:
            lease = found["lease_id"]
            assert lease not in self.given[place]
            self.given[place].append(lease)
            self.model.rooms[place].lease = lease
            expected = {**expected, "lease_id": lease}
        assert {field: found[field] for field in expected} == expected

    @rule(name=agents, in_order=st.sampled_from((True, True, False)))
    def join(self, name: str, in_order: bool = True) -> None:
        if name not in self.pids:
            self.start(name)
        expected = self.model.join(name, self.pids[name], in_order=in_order)
        found = self.scene.agent(name).join(self.workspace, force_new=True, in_order=in_order)
        if found["room_id"] not in self.room_ids:
            self.room_ids.append(str(found["room_id"]))
            self.given.append([])
        assert len(self.room_ids) == len(self.model.rooms)
        assert found["room_id"] == self.room_ids[-1]
        self.agree(len(self.room_ids) - 1, expected, found)

    @rule(actor=actors, age=ages)
    def leave(self, actor: str, age: int) -> None:
        place, room, name = self.scene_of(actor, age)
        self.agree(place, self.model.leave(room, name), self.call(place, name, "rooms.leave"))

    @rule(actor=actors, age=ages, ms=st.sampled_from((0, 1)))
    def wait(self, actor: str, age: int, ms: int) -> None:
        place, room, name = self.scene_of(actor, age)
        self.agree(place, self.model.wait(room, name, ms), self.call(place, name, "turns.wait", max_wait_ms=ms))

    @rule(name=agents)
    def look_for_a_turn(self, name: str) -> None:
        self.wait(name, 0, 0)

    @rule(name=agents)
    def wait_while_others_are_idle(self, name: str) -> None:
        self.jump(1)
        self.wait(name, 0, 1)

    @rule(actor=actors, age=ages, turn=turns, lease=leases)
    def beat(self, actor: str, age: int, turn: int, lease: int | None) -> None:
        place, room, name = self.scene_of(actor, age)
        token, expected_turn = self.token(place, lease), max(room.turn + turn, 0)
        expected = self.model.beat(room, name, expected_turn, token)
        found = self.call(place, name, "turns.heartbeat", lease_id=token, expected_turn_id=expected_turn)
        self.agree(place, expected, found)

    @rule(actor=actors, age=ages, turn=turns, lease=leases, handoff=handoffs)
    def release(self, actor: str, age: int, turn: int, lease: int | None, handoff: object) -> None:
        place, room, name = self.scene_of(actor, age)
        token, expected_turn = self.token(place, lease), max(room.turn + turn, 0)
        expected = self.model.release(room, name, expected_turn, token, handoff)
        given: Row = {"lease_id": token, "expected_turn_id": expected_turn, "handoff": handoff}
        self.agree(place, expected, self.call(place, name, "turns.release", **given))

    @rule(actor=actors, age=ages, turn=turns, lease=leases, to=agents, handoff=handoffs)
    def pass_(self, *, actor: str, age: int, turn: int, lease: int | None, to: str, handoff: object) -> None:
        place, room, name = self.scene_of(actor, age)
        token, expected_turn = self.token(place, lease), max(room.turn + turn, 0)
        expected = self.model.pass_(room, name, expected_turn, token, to=to, handoff=handoff)
        given: Row = {"lease_id": token, "expected_turn_id": expected_turn, "handoff": handoff, "to_agent_id": to}
        self.agree(place, expected, self.call(place, name, "turns.pass", **given))

    @rule(actor=actors, age=ages, turn=turns)
    def take_over(self, actor: str, age: int, turn: int) -> None:
        place, room, name = self.scene_of(actor, age)
        expected_turn = max(room.turn + turn, 0)
        expected = self.model.take_over(room, name, expected_turn, "no answer")
        given: Row = {"expected_turn_id": expected_turn, "reason": "no answer"}
        self.agree(place, expected, self.call(place, name, "turns.takeover", **given))

    @rule(actor=actors, age=ages, lease=leases, sure=st.integers(0, 3))
    def close(self, actor: str, age: int, lease: int | None, sure: int) -> None:
        if sure:
            return  # A closed room ends the story, so closing is rare.
        place, room, name = self.scene_of(actor, age)
        token = self.token(place, lease)
        self.agree(place, self.model.close(room, name, token), self.call(place, name, "rooms.close", lease_id=token))

    @rule(
        actor=actors, age=ages, order=st.permutations(NAMES), named=st.sampled_from(("here", "members", "all", "few"))
    )
    def reorder(self, actor: str, age: int, order: list[str], named: str) -> None:
        place, room, name = self.scene_of(actor, age)
        whom = {"here": self.model.active(room), "members": room.members, "all": NAMES, "few": room.members[:2]}[named]
        sequence = [each for each in order if each in whom] or ["nobody"]
        found = self.call(place, name, "rooms.reorder", sequence=sequence)
        self.agree(place, self.model.reorder(room, name, sequence), found)

    @rule(
        actor=actors,
        age=ages,
        lease_ttl=st.sampled_from((5, 45, 90)),
        claim_ttl=st.sampled_from((1, 20)),
        presence_ttl=st.sampled_from((30, 240)),
    )
    def set_policy(self, actor: str, age: int, lease_ttl: int, claim_ttl: int, presence_ttl: int) -> None:
        place, room, name = self.scene_of(actor, age)
        wanted = [minutes * 60_000 for minutes in (lease_ttl, claim_ttl, presence_ttl)]
        given = dict(zip(("owner_lease_ttl_ms", "claim_ttl_ms", "presence_ttl_ms"), wanted, strict=True))
        found = self.call(place, name, "rooms.set_policy", **given)
        self.agree(place, self.model.set_policy(room, name, *wanted), found)

    def scene_of(self, actor: str, age: int) -> tuple[int, Room, str]:
        """Where a call goes and who makes it; making it shows that the caller is there."""
        place = self.place(age)
        room = self.model.rooms[place]
        name = self.who(room, actor)
        self.model.touch(room, name, self.pids[name])
        return place, room, name

    def token(self, place: int, lease: int | None) -> str:
        given = self.given[place]
        return given[-1 - lease] if lease is not None and lease < len(given) else "forged"

    # What must be true after every step

    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        for room, room_id in zip(self.model.rooms, self.room_ids, strict=True):
            seen: Row = self.scene.stranger(room_id).state()
            seen["members"] = [(member["agent_id"], member["status"]) for member in seen["members"]]
            expected = self.view(room)
            assert {field: seen[field] for field in expected} == expected

    def view(self, room: Room) -> dict[str, Any]:
        active = self.model.active(room)
        opening = self.model.opening(room)
        return {
            "state": self.model.state(room),
            "owner": room.owner,
            "reserved_for": room.reserved_for,
            "turn_id": room.turn,
            "pending_handoff_event_seq": room.pending.seq if room.pending else None,
            "sequence_index": active.index(room.pointer) if room.pointer in active else 0,
            "lease_id": None,
            "lease_expires_at": to_wire(room.lease_until) if room.owner else None,
            "claim_expires_at": to_wire(room.claim_until) if room.reserved_for else None,
            "takeover": opening,
            "takeover_candidates": self.model.candidates(room),
            "cursor": str(room.seq),
            "next": self.model.upcoming(room),
            "waiting": self.model.waiting(room),
            "members_here": len(active),
            "members_gone": len(room.members) - len(active),
            "members": [(name, "active") for name in active],
        }

    @invariant()
    def the_ledger_is_unbroken_and_grants_every_turn_once(self) -> None:
        for place, room in enumerate(self.model.rooms):
            if room.seq == self.checked.get(place):
                continue
            stranger = self.scene.stranger(self.room_ids[place])
            verified: Row = stranger.call("events.verify", room_id=stranger.room_id)
            assert (verified["ok"], verified["events"]) == (True, room.seq)
            granted = [row["turn_id"] for row in stranger.history() if row["event_type"] in {"claim", "takeover"}]
            assert granted == list(range(1, room.turn + 1))
            assert len(set(self.given[place])) == len(self.given[place]) == room.turn
            self.checked[place] = room.seq


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("plays", [40, pytest.param(1000, marks=pytest.mark.soak)])
def test_the_hub_does_what_the_specification_says(store: Store, tmp_path: Path, plays: int) -> None:
    scene = Scene(store, tmp_path.resolve())
    count = itertools.count()

    class Machine(StickMachine):
        def __init__(self) -> None:
            super().__init__(scene, scene.folder(f"path-{next(count)}"))

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=plays if store.engine == "sqlite" else plays // 4,
            stateful_step_count=50,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    assert maintenance.check(scene.hub) == []
