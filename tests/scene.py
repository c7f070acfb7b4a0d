"""A hub on a real store with a clock that tests turn by hand and processes that die when they say so."""

from __future__ import annotations

import itertools
import re
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest

from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, Process, ProcessState, SessionKind
from tallystick.kernel.errors import TallyError
from tallystick.kernel.ids import NewId, new_id
from tallystick.ledger.rebuild import Rows, snapshot
from tallystick.storage.port import Store, Value
from tallystick.storage.sql_files import Query

Row: TypeAlias = dict[str, Any]

HANDOFF: dict[str, object] = {"status": "wrote the plan", "next_action": "review the plan"}
START = 1_790_000_000_000
TABLES = [table for each in registry.schema() for table in re.findall(r"CREATE (?:VIRTUAL )?TABLE (\w+)", each.sql)]


def refused(code: str) -> pytest.RaisesExc[TallyError]:
    """Expect a refusal with this code."""
    return pytest.RaisesExc(TallyError, check=lambda error: error.code == code)


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
    new_id: NewId = new_id
    blobs: Path | None = None

    def __post_init__(self) -> None:
        self.store.migrate(registry.schema())
        self.hub = Hub(
            self.store,
            clock=self.clock,
            new_id=self.new_id,
            process_state=self._state,
            machine_id="test-machine",
            blobs=self.blobs,
        )
        self._pids: dict[str, int] = {}
        self._free_pids = itertools.count(1000)

    def _state(self, process: Process) -> ProcessState:
        if process.host_id != "test-host":
            return ProcessState.UNKNOWN
        return ProcessState.GONE if process.pid in self.dead else ProcessState.ALIVE

    def agent(self, name: str, *, session: SessionKind = SessionKind.MCP_HARNESS, host: str = "test-host") -> Actor:
        if name not in self._pids:
            self._pids[name] = next(self._free_pids)
        pid = self._pids[name]
        process = None if session is SessionKind.HUMAN_CLI else Process(host_id=host, pid=pid, started_at="1")
        return Actor(self, Caller(agent_id=name, session=session, process=process))

    def kill(self, actor: Actor) -> None:
        assert actor.caller.process
        self.dead.add(actor.caller.process.pid)

    def reborn(self, name: str) -> Actor:
        """The same name in a new process."""
        self._pids[name] = next(self._free_pids)
        return self.agent(name)

    def stranger(self, room_id: str) -> Actor:
        """Somebody who knows the room's id and never joined."""
        return Actor(self, Caller(agent_id="stranger", session=SessionKind.NAMED), room_id)

    def folder(self, name: str) -> Path:
        """A folder inside the workspace."""
        path = self.workspace / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def sql(self, text: str, **values: Value) -> None:
        """Change rows behind the hub's back."""
        with self.store.write() as rows:
            rows.run(Query(text, text, text), **values)

    def rows(self, table: str) -> Rows:
        with self.hub.reading() as tx:
            return snapshot(tx, table)

    def dump(self) -> dict[str, Rows]:
        """Every row of every table."""
        return {table: self.rows(table) for table in TABLES}

    @contextmanager
    def refused(self, code: str) -> Generator[None]:
        """Expect a refusal with this code, after which every row is as it was, but for who was seen and told when."""
        before = self.dump()
        with refused(code):
            yield
        after = {table: rows for table, rows in self.dump().items() if table not in ("presence", "superseded")}
        changed = [table for table, rows in after.items() if rows != before[table]]
        assert changed == [], f"refused with {code}, yet these changed: {', '.join(changed)}"

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

    def refused(self, code: str) -> AbstractContextManager[None]:
        return self.scene.refused(code)

    def call(self, operation: str, **given: object) -> dict[str, object]:
        answer = self.scene.hub.call(operation, given, self.caller)
        return answer.to_data()

    def events(self, **given: object) -> list[Row]:
        return cast("list[Row]", self.here("events.list", **given)["events"])

    def members(self) -> list[Row]:
        return cast("list[Row]", self.state()["members"])

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

    def appointed(self, role: str = "foreman") -> None:
        """The user gives this agent a role."""
        user = Actor(self.scene, Caller(agent_id="user", session=SessionKind.HUMAN_CLI), self.room_id)
        user.here("agents.update", agent_id=self.caller.agent_id, role=role)

    def take_over(self, turn_id: int, reason: str = "no answer") -> dict[str, object]:
        return self.here("turns.takeover", expected_turn_id=turn_id, reason=reason)

    def state(self) -> dict[str, object]:
        return self.here("turns.state")

    def history(self) -> list[Row]:
        return cast("list[Row]", self.here("turns.history")["events"])
