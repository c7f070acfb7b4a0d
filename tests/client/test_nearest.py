"""Calls that work with a hub, without one, and while it comes and goes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from tallystick.client import Client, HubNotRunning, Nearest
from tallystick.client.direct import Direct
from tests.scene import refused
from tests.surfaces.hubs import RunningHub, hub


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


def test_a_hub_that_sees_another_process_in_its_place_is_done_without(
    data_dir: Path, running: RunningHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        # As in a namespace of its own, where a process has another number for itself than the hub has for it.
        elsewhere.setattr(os, "getpid", lambda: 1)
        line = Nearest(data_dir=data_dir, agent="ada", patience=0)
    room_id = line.call("rooms.create", title="a room")["room_id"]
    line.call("rooms.join", room_id=room_id)
    line.call("notes.add", room_id=room_id, body="straight into the store")
    found = bodies(line, room_id)
    line.close()
    with Client(data_dir=data_dir) as client:
        served = client.get("/metrics").body.decode()

    assert found == [("ada", "straight into the store")]
    assert "rooms.create" not in served
    assert running.stop() == 0


def test_a_caller_whose_number_is_not_the_one_that_the_hub_sees_is_nobody(standing: Path) -> None:
    with Client(data_dir=standing, agent="ada", headers={"tally-pid": "1"}) as client, refused("nameless_caller"):
        client.call("rooms.list")
    with Client(data_dir=standing, agent="ada", headers={"tally-pid": str(os.getpid())}) as client:
        assert client.call("rooms.list") == {"rooms": []}


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    about = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run(["openssl", "req", *about, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def test_a_hub_on_another_machine_is_reached_over_tls_and_only_where_its_certificate_is_trusted(
    data_dir: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certificate
    with hub({"TALLYSTICK_DATA_DIR": str(data_dir)}, "--tls-cert", str(cert), "--tls-key", str(key)):
        port = json.loads((data_dir / "hub.json").read_bytes())["url"].rpartition(":")[2]
        url, token = f"https://localhost:{port}", (data_dir / "token").read_text("utf-8").strip()
        with Client(url=url, token=token, patience=0) as client, pytest.raises(HubNotRunning) as untrusted:
            client.call("rooms.list")
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        with Client(url=url, token=token, patience=0) as client:
            room_id = client.call("rooms.create", title="a room")["room_id"]
            follower = client.follow(str(room_id))
            first = next(follower)
            follower.close()

    assert "certificate verify failed" in untrusted.value.message
    assert first["seq"] == 1


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
