"""`tally mcp` while a hub runs: thin, the same for its client, and on its own feet when the hub goes away."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from tallystick.harnesses import registry
from tallystick.harnesses.identity import VARIABLE
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel import places
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.surfaces.mcp.shim import ENVIRONMENT, KEY, SOCKET, settings_in, socket_in
from tests.http.running import TALLY
from tests.surfaces.hubs import hub
from tests.surfaces.mcp.stage import SERVER, Stage, rows
from tests.surfaces.mcp.wire import Wire, wired

HEAVY = {"click", "mcp", "pydantic", "asyncio", "threading", "typing", "dataclasses", "pathlib", "tallystick.hub"}


def children(wire: Wire) -> set[str]:
    """What the server's process has loaded, as far as its files show."""
    return {line.split()[-1] for line in Path(f"/proc/{wire.process.pid}/maps").read_text("utf-8").splitlines()}


def alone(wire: Wire) -> bool:
    return any("pydantic_core" in file for file in children(wire))


def test_the_shim_loads_next_to_nothing() -> None:
    program = f"import sys, tallystick.surfaces.mcp.shim; print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-S", "-c", program], env=_path(), check=True, capture_output=True)

    assert done.stdout.decode() == "[]\n"


def test_the_shim_says_everything_that_an_identity_depends_on() -> None:
    names = {name for each in registry.HARNESSES for name in (*each.markers, *each.sessions)}

    assert set(ENVIRONMENT) == {VARIABLE, "CLAUDE_PROJECT_DIR", *names}


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/home/ada"},
        {"HOME": "/home/ada", "XDG_DATA_HOME": "/data"},
        {"HOME": "/home/ada", "XDG_DATA_HOME": "relative"},
        {"HOME": "/home/ada", "TALLYSTICK_DATA_DIR": "/data/of/hers", "XDG_DATA_HOME": "/data"},
        {"TALLYSTICK_DATA_DIR": "~/tally"},
        {},
    ],
)
def test_the_socket_lies_in_the_hubs_data_directory(environ: Mapping[str, str]) -> None:
    assert socket_in(environ) == str(Settings.of(environ, platform="linux").data_dir / SOCKET)


@pytest.mark.parametrize(
    ("args", "settings"),
    [
        ([], {}),
        (["--as", "ada"], {"TALLYSTICK_AGENT": "ada"}),
        (["--data-dir=/d", "--tools", "full"], {"TALLYSTICK_DATA_DIR": "/d", "TALLYSTICK_MCP_TOOLS": "full"}),
        (["--help"], None),
        (["--as"], None),
        (["--as="], None),
        (["daily"], None),
        (["--json"], None),
        (["--tools", "everything"], None),
    ],
)
def test_options_that_the_shim_does_not_understand_are_left_to_click(
    args: list[str], settings: Mapping[str, str] | None
) -> None:
    assert settings_in(args, {}) == settings


def test_the_socket_is_for_its_owner_only_and_goes_with_the_hub(modern_stage: Stage) -> None:
    path = Path(modern_stage.env["TALLYSTICK_DATA_DIR"]) / SOCKET
    with hub(modern_stage.env) as running:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert running.stop() == 0

    assert not path.exists()


def test_a_client_is_served_by_the_hub_while_it_runs_and_without_it_afterwards(stage: Stage) -> None:
    with hub(stage.env) as running, wired(stage, "ada") as wire:
        room_id = wire.call("join_path")["room_id"]
        turn = wire.call("wait_for_turn", room_id=room_id, max_wait_ms=0)
        assert not alone(wire)
        running.stop()

        again = wire.call("wait_for_turn", room_id=room_id, max_wait_ms=0)
        assert again == {**turn, "reason": "already_owner"}
        assert alone(wire)
        assert wire.hang_up() == 0


def test_options_before_the_command_lead_to_the_hub_too(served_stage: Stage) -> None:
    program, *words = SERVER
    with wired(served_stage, "ada", (program, "--as", "zoe", *words)) as wire:
        assert wire.call("join_path")["agent_id"] == "zoe"
        assert not alone(wire)


def test_a_name_that_the_client_chose_outlives_the_hub(modern_stage: Stage) -> None:
    with hub(modern_stage.env) as running, wired(modern_stage, "ada") as wire:
        wire.call("join_path", agent_id_override="zoe")
        running.kill()

        assert wire.call("join_path")["agent_id"] == "zoe"


def test_a_wait_that_the_hub_leaves_open_is_answered_after_its_end(modern_stage: Stage) -> None:
    with hub(modern_stage.env) as running, wired(modern_stage, "ada") as ada, wired(modern_stage, "bob") as bob:
        room_id = ada.call("join_path")["room_id"]
        bob.call("join_path")
        turn = ada.call("wait_for_turn", room_id=room_id, max_wait_ms=0)
        number = bob.request("tools/call", name="wait_for_turn", arguments={"room_id": room_id, "max_wait_ms": 30_000})
        running.kill()
        held = {"room_id": room_id, "lease_id": turn["lease_id"], "expected_turn_id": turn["turn_id"]}
        ada.call("release_stick", **held, handoff={"status": "done", "next_action": "go on"})

        answer = cast("dict[str, Any]", bob.read())

    assert (answer["id"], answer["result"]["structuredContent"]["status"]) == (number, "your_turn")


def test_a_call_that_was_done_and_never_answered_is_answered_and_not_done_again(modern_stage: Stage) -> None:
    stage = modern_stage
    with acting(stage) as listening, wired(stage, "ada") as wire:
        link, greeting = accepted(listening)
        assert greeting["environ"] == {"TALLYSTICK_AGENT": "ada"}
        own = Hub.open(Settings.of(stage.env))
        caller = Caller(agent_id="ada", session=SessionKind.NAMED)
        joined = own.call("rooms.join", {"context_path": str(stage.workspace)}, caller)
        given = {"room_id": joined.to_data()["room_id"], "body": "once"}
        number = wire.request("tools/call", name="rooms", arguments={"op": "call", "cmd": "notes.add", "args": given})
        key = heard(link, number)["params"]["_meta"][KEY]
        done = own.call("notes.add", given, caller, key=key)
        link.close()

        answer = cast("dict[str, Any]", wire.read())
        notes = own.call("notes.list", {"room_id": given["room_id"]}, caller).to_data()
        own.close()

    assert answer["id"] == number
    assert answer["result"]["structuredContent"] == done.to_data()
    assert [note["body"] for note in rows(notes, "notes")] == ["once"]


def test_who_means_another_store_is_not_served_by_this_hub(served_stage: Stage) -> None:
    elsewhere = {"TALLYSTICK_DATABASE_URL": "postgresql://127.0.0.1:1/nothing?connect_timeout=2"}
    stage = Stage(
        env={**served_stage.env, **elsewhere}, workspace=served_stage.workspace, revision=served_stage.revision
    )
    with wired(stage, "ada") as wire:
        assert wire.call("list_rooms")["error"] == "store_unreachable"


def test_a_client_that_leaves_takes_the_shim_with_it(served_stage: Stage) -> None:
    with wired(served_stage, "ada") as wire:
        wire.call("list_rooms")

        assert wire.hang_up() == 0


def test_a_hub_is_greeted_without_the_databases_password(modern_stage: Stage) -> None:
    url = "postgresql://alice:s3cret@db.internal/tally"
    env = {**modern_stage.env, "TALLYSTICK_DATABASE_URL": url}
    with acting(modern_stage) as listening:
        shim = subprocess.Popen([TALLY, "mcp"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        link, greeting = accepted(listening)
        link.close()
        shim.kill()
        shim.communicate()

    assert greeting["database"] == places.database_mark(url)
    assert "s3cret" not in json.dumps(greeting)


@contextmanager
def acting(stage: Stage) -> Generator[socket.socket]:
    """A socket where the hub's would be, for a test that plays the hub."""
    folder = Path(stage.env["TALLYSTICK_DATA_DIR"])
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / SOCKET))
        listening.listen()
        yield listening


def accepted(listening: socket.socket) -> tuple[socket.socket, dict[str, Any]]:
    """A connection that was bidden welcome, and what it said first."""
    link, _ = listening.accept()
    hello = json.loads(link.makefile("rb").readline())["tallystick"]
    link.sendall(b'{"tallystick": {"welcome": true}}\n')
    return link, hello


def heard(link: socket.socket, number: int) -> dict[str, Any]:
    """The request with this number."""
    for line in link.makefile("rb"):
        message = json.loads(line)
        if message.get("id") == number:
            return message
    raise AssertionError("the shim hung up")


def _path() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(registry.__file__).parents[2]), "PATH": os.environ["PATH"]}
