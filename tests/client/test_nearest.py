"""Calls that work with a hub, without one, and while it comes and goes."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from tallystick.client import HubNotRunning, Nearest
from tallystick.client.direct import Direct
from tests.scene import refused
from tests.surfaces.hubs import hub


@pytest.fixture
def nearest(data_dir: Path) -> Generator[Nearest]:
    line = Nearest(data_dir=data_dir, agent="ada", patience=10)
    yield line
    line.close()


def bodies(line: Nearest, room_id: object) -> list[object]:
    rows = cast("list[dict[str, object]]", line.call("notes.list", room_id=room_id)["notes"])
    return [(row["by"], row["body"]) for row in rows]


def test_calls_go_on_as_the_same_agent_while_a_hub_comes_dies_and_comes_back(nearest: Nearest, data_dir: Path) -> None:
    env = {"TALLYSTICK_DATA_DIR": str(data_dir)}
    room_id = nearest.call("rooms.create", title="a room")["room_id"]
    nearest.call("rooms.join", room_id=room_id)
    with hub(env) as running:
        nearest.call("notes.add", room_id=room_id, body="through the hub")
        running.kill()
        nearest.call("notes.add", room_id=room_id, body="without it")
    with hub(env):
        nearest.call("notes.add", room_id=room_id, body="through the next")

        assert bodies(nearest, room_id) == [
            ("ada", "through the hub"),
            ("ada", "without it"),
            ("ada", "through the next"),
        ]


def test_a_refusal_is_the_same_on_both_ways(nearest: Nearest, data_dir: Path) -> None:
    with refused("room_not_found"):
        nearest.call("rooms.show", room_id="nowhere")
    with hub({"TALLYSTICK_DATA_DIR": str(data_dir)}), refused("room_not_found"):
        nearest.call("rooms.show", room_id="nowhere")


def test_a_hub_that_was_named_by_its_address_is_waited_for_and_never_done_without(data_dir: Path) -> None:
    line = Nearest(data_dir=data_dir, url="http://127.0.0.1:9", token="none", patience=0.1)

    with pytest.raises(HubNotRunning):
        line.call("rooms.list")

    line.close()
    assert not data_dir.exists()


def test_what_a_dying_hub_has_done_is_not_done_again(nearest: Nearest, data_dir: Path) -> None:
    room_id = nearest.call("rooms.create", title="a room")["room_id"]
    nearest.call("rooms.join", room_id=room_id)
    direct = Direct(data_dir=data_dir, agent="ada")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(data_dir / "hub.sock"))
        listener.listen()
        (data_dir / "hub.json").write_text(json.dumps({"http_socket": str(data_dir / "hub.sock")}), "utf-8")

        def die_before_the_answer() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as request:
                lines = [line.decode().strip() for line in iter(request.readline, b"\r\n")]
                head = dict(line.split(": ", 1) for line in lines[1:])
                given = json.loads(request.read(int(head["content-length"])))
                direct.call("notes.add", given, key=head["idempotency-key"])
                listener.close()

        hub = threading.Thread(target=die_before_the_answer)
        hub.start()
        nearest.call("notes.add", room_id=room_id, body="once")
        hub.join()
    direct.close()

    assert bodies(nearest, room_id) == [("ada", "once")]
