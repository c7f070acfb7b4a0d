"""Rules decide on values: what is known of a process is handed to them, and they look at nothing themselves."""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs

from tallystick import capabilities
from tallystick.capabilities.agents import rules
from tallystick.capabilities.agents.model import Liveness, Member, Role, Status
from tallystick.capabilities.rooms.model import Policy, Room, RoomState
from tallystick.capabilities.turns import rules as turn_rules
from tallystick.capabilities.turns.events import Opening
from tallystick.capabilities.turns.model import Lease, Stick, TurnSnapshot
from tallystick.harnesses import processes
from tallystick.kernel.caller import Caller, Process, ProcessState, SessionKind

MODULES = sorted(Path(capabilities.__path__[0]).glob("*/rules.py"))
LOOKING = {"os", "io", "pathlib", "subprocess", "socket", "time", "random", "psutil", "apsw", "psycopg"}
"""Modules that see the world outside, and layers of ours that do."""
LOOKING_LAYERS = ("tallystick.harnesses", "tallystick.storage", "tallystick.ledger.tx", "tallystick.hub")
NOW = 1_000_000


def imported(module: Path) -> set[str]:
    found = set[str]()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.parent.name)
def test_rules_import_nothing_that_looks_at_the_world(module: Path) -> None:
    names = imported(module)
    assert names.isdisjoint(LOOKING)
    assert [name for name in names if name.startswith(LOOKING_LAYERS) or name.endswith(".queries")] == []


_opened: list[str] | None = None


def _note(event: str, _: object) -> None:
    if _opened is not None and event.partition(".")[0] in {"open", "os", "socket", "subprocess"}:
        _opened.append(event)


sys.addaudithook(_note)


@contextmanager
def system_calls() -> Generator[list[str]]:
    """What Python reports of files, processes and sockets meanwhile; such a hook cannot be taken away again."""
    global _opened  # noqa: PLW0603
    found = _opened = list[str]()
    try:
        yield found
    finally:
        _opened = None


def member(agent_id: str, ordinal: int, state: ProcessState) -> Member:
    return Member(
        agent_id=agent_id,
        name=agent_id,
        role=Role.PEER,
        harness="",
        scope_key="",
        ordinal=ordinal,
        joined_at=NOW,
        last_seen_at=NOW,
        session=SessionKind.MCP_HARNESS,
        process=Process(host_id="h", pid=1, started_at="1"),
        process_state=state,
        progressed_at=NOW,
    )


def table(*members: Member, stick: Stick) -> TurnSnapshot:
    room = Room(
        room_id="r", title="", canonical_path="", policy=Policy(), created_at=0, created_by="ada", closed_at=None
    )
    lease = Lease(turn_id=1, lease_id="l", lease_expires_at=NOW + 1, claim_expires_at=NOW + 1)
    return TurnSnapshot(
        room=room, members=members, stick=stick, lease=lease, owner_process=ProcessState.ALIVE, handed=None
    )


def test_a_look_at_a_process_would_be_noticed() -> None:
    with system_calls() as made:
        processes.state(Process(host_id=processes.host_id(), pid=1, started_at="1"))
    assert "open" in made


def test_a_member_is_a_value() -> None:
    assert member("ada", 0, ProcessState.ALIVE) == member("ada", 0, ProcessState.ALIVE)
    assert hash(member("ada", 0, ProcessState.GONE)) == hash(member("ada", 0, ProcessState.GONE))
    assert member("ada", 0, ProcessState.GONE) != member("ada", 0, ProcessState.ALIVE)


def test_presence_and_liveness_are_decided_from_what_is_handed_in() -> None:
    alive, gone = member("ada", 0, ProcessState.ALIVE), member("bob", 1, ProcessState.GONE)
    other = Caller(agent_id="ada", session=SessionKind.NAMED)
    with system_calls() as made:
        found = [rules.status(each, now=NOW, presence_ttl_ms=1) for each in (alive, gone)]
        counts = [rules.liveness(each, now=NOW, stale_ms=1) for each in (alive, gone)]
        ranks = [rules.outranked(each, other) for each in (alive, gone)]
    assert made == []
    assert found == [Status.ACTIVE, Status.INACTIVE]
    assert counts == [Liveness.ACTIVE, Liveness.EVICTED]
    assert ranks == [True, False]


def test_turns_are_decided_from_what_is_handed_in() -> None:
    ada, bob, cyd = (member(name, at, ProcessState.ALIVE) for at, name in enumerate(("ada", "bob", "cyd")))
    dead = structs.replace(bob, process_state=ProcessState.GONE)
    me = Caller(agent_id="ada", session=SessionKind.MCP_HARNESS)
    owned = table(ada, dead, cyd, stick=Stick(turn_id=1, owner="ada"))
    kept = table(ada, dead, cyd, stick=Stick(turn_id=1, reserved_for="bob"))
    with system_calls() as made:
        following = turn_rules.successor(owned, me, now=NOW)
        found = turn_rules.opening(kept, now=NOW), turn_rules.state(kept, now=NOW), turn_rules.liveness(kept, "bob")
    assert made == []
    assert following == cyd
    assert found[:2] == (Opening.RECIPIENT_GONE, RoomState.RECIPIENT_GONE)
    assert found[2].process == "gone"
