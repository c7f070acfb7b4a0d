"""A hub on a real store with a clock that tests turn by hand and processes that die when they say so."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, Process, ProcessState, SessionKind
from tallystick.kernel.operation import Answer
from tallystick.storage.port import Store

HANDOFF: dict[str, object] = {"status": "wrote the plan", "next_action": "review the plan"}
START = 1_790_000_000_000


@dataclass
class Clock:
    now: int = START

    def __call__(self) -> int:
        return self.now

    def forward(self, *, minutes: float = 0, ms: int = 0) -> None:
        self.now += int(minutes * 60_000) + ms


@dataclass
class Scene:
    """One hub, one workspace; agents act through `agent(name)`."""

    store: Store
    workspace: Path
    clock: Clock = field(default_factory=Clock)
    dead: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self.store.migrate(registry.schema())
        self.hub = Hub(self.store, clock=self.clock, process_state=self._state, machine_id="test-machine")
        self._pids: dict[str, int] = {}

    def _state(self, process: Process) -> ProcessState:
        if process.host_id != "test-host":
            return ProcessState.UNKNOWN
        return ProcessState.GONE if process.pid in self.dead else ProcessState.ALIVE

    def agent(self, name: str, *, session: SessionKind = SessionKind.MCP_HARNESS, host: str = "test-host") -> Actor:
        pid = self._pids.setdefault(name, 1000 + len(self._pids))
        process = None if session is SessionKind.HUMAN_CLI else Process(host_id=host, pid=pid, started_at="1")
        return Actor(self, Caller(agent_id=name, session=session, process=process))

    def kill(self, actor: Actor) -> None:
        assert actor.caller.process
        self.dead.add(actor.caller.process.pid)

    def joined(self, *names: str) -> tuple[Actor, ...]:
        actors = tuple(self.agent(name) for name in names)
        for actor in actors:
            actor.join()
        return actors


@dataclass
class Turn:
    room_id: str
    turn_id: int
    lease_id: str


@dataclass
class Actor:
    scene: Scene
    caller: Caller
    room_id: str = ""

    def call(self, operation: str, **given: object) -> dict[str, object]:
        answer = self.scene.hub.call(operation, given, self.caller)
        return answer.model_dump(mode="json")

    def ask(self, operation: str, **given: object) -> Answer:
        return self.scene.hub.call(operation, {"room_id": self.room_id, **given}, self.caller)

    def here(self, operation: str, **given: object) -> dict[str, object]:
        """Call an operation about this actor's room."""
        return self.call(operation, room_id=self.room_id, **given)

    def join(self, path: Path | None = None, **given: object) -> dict[str, object]:
        joined = self.call("rooms.join", context_path=str(path or self.scene.workspace), **given)
        self.room_id = cast("str", joined["room_id"])
        return joined

    def look(self) -> dict[str, object]:
        """One look for a turn, without waiting."""
        return self.here("turns.wait", max_wait_ms=0)

    def claim(self) -> Turn:
        turn = self.look()
        assert turn["status"] == "your_turn", turn
        return Turn(self.room_id, cast("int", turn["turn_id"]), cast("str", turn["lease_id"]))

    def owner(self, operation: str, turn: Turn, **given: object) -> dict[str, object]:
        return self.here(operation, lease_id=turn.lease_id, expected_turn_id=turn.turn_id, **given)

    def release(self, turn: Turn, **given: object) -> dict[str, object]:
        return self.owner("turns.release", turn, **{"handoff": HANDOFF, **given})

    def pass_to(self, turn: Turn, target: str, **given: object) -> dict[str, object]:
        return self.owner("turns.pass", turn, **{"to_agent_id": target, "handoff": HANDOFF, **given})

    def take_over(self, turn_id: int, reason: str = "no answer") -> dict[str, object]:
        return self.here("turns.takeover", expected_turn_id=turn_id, reason=reason)

    def state(self) -> dict[str, object]:
        return self.here("turns.state")

    def history(self) -> list[dict[str, object]]:
        return cast("list[dict[str, object]]", self.here("turns.history")["events"])
