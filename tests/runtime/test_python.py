"""The same from Python, without a command: attach, work, leave; relay and get what came of it."""

from __future__ import annotations

import importlib
import json
import threading
from types import ModuleType
from typing import cast

import pytest

from tallystick import runtime
from tallystick.kernel.errors import TallyError
from tallystick.runtime import agent as agents
from tests.http.running import Json
from tests.runtime.world import DEADLINE, World, control, message


def environ(world: World) -> dict[str, str]:
    return {"PATH": f"{world.bin}:/usr/bin:/bin", "HARNESS_STATE": str(world.state)}


def test_a_program_is_attached_works_and_leaves(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "HEARTBEAT_SECONDS", 0.01)
    boss, said, ended = world.member("boss"), list[str](), list[str]()
    with runtime.attached(
        ["claude"],
        name="worker",
        room=world.room_id,
        cwd=world.repo,
        data_dir=world.hub.data_dir,
        environ=environ(world),
        tell=said.append,
    ) as attached:
        thread = threading.Thread(target=lambda: ended.append(attached.work()), daemon=True)
        thread.start()

        (outcome,) = world.done(boss, message("worker", "count"))
        attached.leave()
        thread.join(DEADLINE)

    assert (attached.room_id, outcome["reply"], ended) == (world.room_id, "count (1)", ["told to end"])
    assert said[1:] == ["boss asks: count", "Bash: echo count", "answered boss: count (1)"]


def test_a_room_of_a_folder_is_found_or_made(world: World) -> None:
    with runtime.attached(
        ["cat"], name="worker", cwd=world.repo, data_dir=world.hub.data_dir, tell=lambda _: None
    ) as attached:
        found = world.client("worker").call("rooms.list", context_path=str(world.repo), limit=1)["rooms"]

    assert [room["room_id"] for room in cast("list[Json]", found)] == [attached.room_id]


def test_a_closed_room_ends_the_agent_with_its_reason(world: World) -> None:
    world.member("boss").call("rooms.close", room_id=world.room_id)

    with (
        pytest.raises(TallyError) as refused,
        runtime.attached(["cat"], name="worker", room=world.room_id, data_dir=world.hub.data_dir),
    ):
        raise AssertionError("it was let in")

    assert refused.value.code == "room_closed"


def test_a_relay_returns_how_it_ended(world: World) -> None:
    world.attach("worker", "codex")
    script = world.folder / "script.json"
    turns = [
        {"type": "relay_actions", "actions": [control("worker", "new"), message("worker", "count")]},
        {"type": "task_done"},
    ]
    script.write_text(json.dumps([json.dumps(turn) for turn in turns]))

    ended = runtime.relaying(
        "count",
        ["claude"],
        name="owner",
        room=world.room_id,
        cwd=world.repo,
        data_dir=world.hub.data_dir,
        environ={**environ(world), "HARNESS_SCRIPT": str(script)},
        tell=lambda _: None,
    )

    assert (str(ended.why), ended.text, ended.turns) == ("done", "done", 2)


def test_what_the_package_offers_is_no_module_of_its_own() -> None:
    importlib.import_module("tallystick.runtime.start")  # Whatever was loaded before.

    assert [name for name in runtime.__all__ if isinstance(getattr(runtime, name), ModuleType)] == []
